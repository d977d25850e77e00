// The system calls that a running engine makes, as a table, and the seccomp filter made of it.
//
//   a call of the table, whose arguments pass   allowed
//   a call of the table, other arguments        refused: EPERM; counted by its number (refusals.h)
//   one that only an attacker makes (execve,    the process is killed; the kernel's audit log names the call
//   ptrace, mount, bpf, ...), the i386 and x32 ABIs
//   any other known one                         refused: EPERM, counted
//   clone3, openat2, a number above those known ENOSYS, so that a C library tries what it did before
//
// The filter sees registers, not memory: of a socket address it knows nothing, of open() the flags and not the path.
// Paths are Landlock's part (landlock.h), the requests of io_uring that of each ring's restrictions
// (engine/net/uring_io.cc).
//
// The table is that of x86-64. Beside the calls of glibc 2.36, for which the engine is built, it has those that glibc
// up to 2.41 and musl make in their place. tests/test_sandbox.py runs with it.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drover::engine::sandbox {

// Holds if (argument & mask) == value, of 32 bits of the argument: the lower, or the upper with `high`.
struct ArgumentTest {
  uint8_t argument;
  uint32_t mask;
  uint32_t value;
  bool high = false;
};

struct SystemCallRule {
  int number;
  // Allowed if all tests of one of these hold. Empty: always allowed.
  std::vector<std::vector<ArgumentTest>> any_of = {};
};

struct SystemCallOptions {
  bool datagrams = false;  // makes UDP sockets later: links to other engines
  bool appends = false;    // opens files to write at their end (FileRules::appended)
  bool renames = false;    // moves files (FileRules::rotated)
  pid_t process = 0;       // the only one that signals may go to
};

std::vector<SystemCallRule> allowed_system_calls(const SystemCallOptions& options);
// Those that kill.
std::vector<int> deadly_system_calls();

// What the filter says to a call of x86-64.
std::vector<sock_filter> compile_filter(const std::vector<SystemCallRule>& allowed, const std::vector<int>& deadly);

// "openat"; "number 500" of one that is not known.
std::string system_call_name(int number);
// All numbers below are known, but for gaps.
extern const int kSystemCallNumbers;

}  // namespace drover::engine::sandbox
