// HostPolicy: what the hosts of each user may serve, by configuration (hosts.allow). The user is the one that the
// kernel names (SO_PEERCRED), never the host's own word.
//
//   1001=/shop.Orders/*,/shop.Stock/Get,0.0.0.0:50051; 1002=/shop.Mail/*,unix:/run/mail/*; 0=*
//   ^uid ^what its hosts may serve: methods begin with "/", names that are served with RPC lines with "lines:",
//         addresses with neither; "*" at the end stands for any rest
//
// Several rules for one user add up; "*" as the user is everybody. Without rules every host may serve everything.
// Thread-safety: read-only once parsed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine {

class HostPolicy {
 public:
  // Everything is allowed.
  HostPolicy() = default;
  // Returns what is wrong with `rules`, or "".
  static std::string parse(std::string_view rules, HostPolicy* policy);

  bool may_attach(uid_t user) const;
  // A method "/package.Service/Method"; an address as the host names it.
  bool may_serve(uid_t user, std::string_view path) const { return allowed(user, path); }
  bool may_listen(uid_t user, std::string_view address) const { return allowed(user, address); }
  bool may_serve_lines(uid_t user, std::string_view name) const { return allowed(user, "lines:" + std::string(name)); }
  // The users that rules name, for the control socket to let in.
  std::vector<uid_t> users() const;

 private:
  struct Rule {
    bool anybody = false;
    uid_t user = 0;
    std::vector<std::string> patterns;
    bool is_for(uid_t who) const { return anybody || user == who; }
  };
  bool allowed(uid_t user, std::string_view name) const;

  std::vector<Rule> rules_;
};

}  // namespace drover::engine
