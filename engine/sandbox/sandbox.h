// The sandbox: what droverd may still do once it serves. It is entered when the configuration, the certificates, the
// log, the io_uring rings and the control socket are there, before the first other thread, and before the first byte
// that a client or a host has sent is read.
//
//   enter:  no core dumps -> capabilities -> no_new_privs -> Landlock (landlock.h) -> seccomp (system_calls.h)
//
// Nothing of it can be taken back, and all threads made later have it. What the kernel lacks is named in
// Outcome::missing: a part, or what its Landlock does not know yet (landlock_gaps). With kRequired that is an error
// instead. Under valgrind, which makes code, the sandbox must be off.
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
  std::vector<std::string> missing;  // why a part is not in force, or not whole
};

// False: `error` says why the process must not go on. In kOff only core dumps are set.
bool enter(const Policy& policy, Outcome* outcome, std::string* error);

// What enter() would find missing on this machine and in this build, a line each. Changes nothing.
std::vector<std::string> missing_here();

}  // namespace drover::engine::sandbox
