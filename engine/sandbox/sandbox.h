// The sandbox: what droverd may still do once it serves. It is entered after the configuration, the certificates, the
// log and the io_uring rings, and before the first other thread, the control socket and the first byte of anybody.
//
//   enter:  capabilities -> no core dumps -> no_new_privs -> Landlock (landlock.h) -> seccomp (system_calls.h)
//
// Nothing of it can be taken back, and all threads made later have it. Parts that the kernel does not have are named in
// Outcome::missing; with kRequired they are an error instead. Under valgrind, which makes code, it must be off.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sandbox/landlock.h"

namespace drover::engine::sandbox {

enum class Mode : uint8_t { kOff, kOn, kRequired };

struct Policy {
  Mode mode = Mode::kOn;
  FileRules files;
  bool datagrams = false;  // UDP sockets are made later
  bool core_dumps = false;
  uint64_t keep_capabilities = 0;  // of those that the process has
};

struct Outcome {
  bool entered = false;              // at least a part is in force
  bool system_calls = false;         // seccomp is in force
  bool privileges = false;           // no_new_privs is set, capabilities are limited
  Granted files;                     // abi 0: Landlock is not in force
  std::vector<std::string> missing;  // why a part is not in force
};

// False: `error` says why the process must not go on. In kOff only core dumps are set.
bool enter(const Policy& policy, Outcome* outcome, std::string* error);

// What enter() would find missing on this machine and in this build, a line each. Changes nothing.
std::vector<std::string> missing_here();

}  // namespace drover::engine::sandbox
