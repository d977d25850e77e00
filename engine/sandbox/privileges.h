// The engine's user and its capabilities. Before the first other thread: system calls change one thread's.
//
// Source: capabilities(7), credentials(7), prctl(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace drover::engine::sandbox {

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  // for its supplementary groups; empty: it has none
};

// `user`: a name or a number. `group`: the same, or empty for the user's own. False: `error` says which is not there.
bool find_user(const std::string& user, const std::string& group, User* found, std::string* error);

// From root to that user, for good, with the capabilities `keep` that the process has. Of a process that is that user
// already, nothing. False: `error`; the process may have changed in part, and must end.
bool become(const User& user, uint64_t keep, std::string* error);

// A set of capabilities, as bits: 1 << CAP_NET_BIND_SERVICE.
uint64_t capabilities();
// Gives up all but `keep`, for good: permitted, effective, inheritable, ambient; and the bounding set, where the
// process may change that. False: `error`.
bool limit_capabilities(uint64_t keep, std::string* error);
// "none", "net_bind_service, dac_override", "0x..." of others.
std::string capability_names(uint64_t set);

// Whether a crash writes memory, with keys in it, to a core file, and other processes of the user may attach a
// debugger.
bool allow_core_dumps(bool allow);
bool set_no_new_privileges();

}  // namespace drover::engine::sandbox
