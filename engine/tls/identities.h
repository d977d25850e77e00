// The TLS identities that the engine's configuration names, from files, and the listening addresses that they are for.
//
//   tls.identities  "shop certificate=/etc/shop.pem key=/etc/shop.key client_ca=/etc/ca.pem clients=require; NAME ..."
//   tls.listen      "shop=0.0.0.0:443,unix:/run/shop/*; NAME=ADDRESS,..."
//
// Several certificate= and key= of one identity are for several names (SNI). The identity of tls.certificate and
// tls.key is called "default"; in tls.listen it needs no NAME=. Files that have changed are read again by reload();
// where they are wrong, what is in use stays.
//
// Thread-safety: find() and for_address() from any thread, once loaded; load() and reload() from one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/small_file.h"
#include "engine/tls/context.h"
#include "engine/tls/credentials.h"

namespace drover::engine::tls {

struct IdentityFiles {
  std::string name;
  std::vector<std::string> certificates;
  std::vector<std::string> keys;
  std::string client_ca;
  ClientCertificates clients = ClientCertificates::kNone;
};

struct IdentityOptions {
  std::string identities;   // tls.identities
  std::string listen;       // tls.listen
  std::string certificate;  // of the default identity: one or more files, by commas
  std::string key;
  std::string client_ca;
  std::string clients;  // "none", "request", "require"
  Version least = Version::k12;
  // The sockets that an address may stand for, each in one spelling; as it stands if it is no address.
  std::function<std::vector<std::string>(std::string_view)> canonical = [](std::string_view address) {
    return std::vector<std::string>{std::string(address)};
  };
};

class Identities {
 public:
  // Reads the options and the files. False: `error` says what is wrong.
  bool load(const IdentityOptions& options, std::string* error);
  // Reads files again: those that have changed since, or with `all` every one. Logs what it does.
  void reload(bool all);

  bool empty() const { return identities_.empty(); }
  // As the options say, also where load() found something wrong with a file.
  std::vector<IdentityFiles> files() const;
  // The addresses of tls.listen, each with its identity.
  std::vector<std::pair<std::string, std::string>> listens() const;
  Version least() const { return least_; }
  // Null: no identity has that name.
  std::shared_ptr<const Server> find(std::string_view name) const;
  // The name of the identity that the configuration gives an address, however it is spelled; empty: none.
  std::string_view for_address(std::string_view address) const;

 private:
  struct Identity {
    IdentityFiles files;
    std::shared_ptr<Server> server;
    std::vector<FileStamp> stamps;
    std::string told;  // why the last look failed
  };
  struct Rule {
    std::string identity;
    std::string pattern;  // "*" at the end stands for any rest
    std::vector<std::string> canonical;
  };

  static std::vector<FileStamp> stamps_of(const IdentityFiles& files);
  bool parse_identities(std::string_view text, std::string* error);
  bool parse_listen(std::string_view text, std::string* error);
  std::shared_ptr<const Context> read(const IdentityFiles& files, std::string* error) const;

  Version least_ = Version::k12;
  std::vector<Identity> identities_;
  std::vector<Rule> rules_;
  std::function<std::vector<std::string>(std::string_view)> canonical_;  // of the options
};

}  // namespace drover::engine::tls
