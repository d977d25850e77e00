// Whose tokens are taken: auth.issuers, and the keys of each from a file.
//
//   "main iss=https://id.example/ keys=/etc/drover/jwks.json audiences=shop,shop-admin algorithms=RS256,ES256
//    typ=at+jwt claims=exp,sub; other iss=..."
//
// Files that have changed are read again by reload(); where they are wrong, the keys in use stay. Nothing is fetched
// from a network.
//
// Thread-safety: trust() and version() from any thread, once loaded; load() and reload() from one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/auth/algorithm.h"
#include "engine/auth/key_set.h"
#include "engine/base/small_file.h"

namespace drover::engine::auth {

struct IssuerOptions {
  std::string name;                    // in the configuration and in rules
  std::string issuer;                  // `iss`, compared character by character
  std::string keys;                    // a file
  std::vector<std::string> audiences;  // one of them must be in `aud`; empty: any will do, and none
  Algorithms algorithms = Algorithms::asymmetric();
  std::string type;                           // `typ` must say that; empty: anything
  std::vector<std::string> claims = {"exp"};  // that every token must have
};

struct Issuer {
  IssuerOptions options;
  std::shared_ptr<const KeySet> keys;
};

// All of them at one time. Immutable.
struct Trust {
  // Null: not known.
  const Issuer* find(std::string_view iss) const;
  std::vector<Issuer> issuers;
  uint64_t version = 0;
};

class Issuers {
 public:
  // Reads the text and the files. False: `error` says what is wrong.
  bool load(std::string_view text, std::string* error);
  // Reads files again: those that have changed since, or with `all` every one. Logs what it does.
  void reload(bool all);

  bool empty() const { return options_.empty(); }
  // As the text says, also where load() found something wrong with a file.
  const std::vector<IssuerOptions>& options() const { return options_; }
  std::shared_ptr<const Trust> trust() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return trust_;
  }
  // Of trust(), which has changed if it has.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  static std::shared_ptr<const KeySet> read(const IssuerOptions& options, std::string* error);
  std::string parse(std::string_view text);
  void publish(std::vector<Issuer> issuers);

  std::vector<IssuerOptions> options_;
  std::vector<FileStamp> stamps_;  // of the files, in the order of the options
  std::vector<std::string> told_;  // why the last look failed
  mutable std::mutex mutex_;
  std::shared_ptr<const Trust> trust_;
  std::atomic<uint64_t> version_{0};
};

}  // namespace drover::engine::auth
