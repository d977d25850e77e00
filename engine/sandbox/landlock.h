// Landlock (Linux 5.13): which files the process may reach by name, and that it makes no TCP connection. Rules hold for
// the calling thread and the threads it makes from then on; open descriptors and memfds go on as they are.
//
//   ABI 1  files: read, write, make, remove         Linux 5.13
//   ABI 2  moving files between directories         5.19
//   ABI 3  truncating                               6.2
//   ABI 4  connecting by TCP                        6.7
//   ABI 5  ioctl of devices                         6.10
//   ABI 6  abstract Unix sockets, signals           6.12
//
// What an older kernel does not know is not limited, and landlock_gaps() names it. Binding to TCP ports is never
// limited: hosts name them at any time. Source: Documentation/userspace-api/landlock.rst.
#pragma once

#include <climits>
#include <string>
#include <vector>

namespace drover::engine::sandbox {

struct FileRules {
  std::vector<std::string> readable;  // directories and files, with all below them
  // Directories, with all below: to be listed, and sockets made and any file removed there.
  std::vector<std::string> sockets;
  std::vector<std::string> removable;  // directories of files to be removed
  // Directories of files that are made and written at their end, each time anew (log rotation moves them away).
  std::vector<std::string> appended;
  int newest_abi = INT_MAX;  // for tests: as a kernel does that knows no newer one
  // Directories of such files that are moved away within their directory, or removed.
  std::vector<std::string> rotated;
};

struct Granted {
  int abi = 0;                       // 0: no Landlock
  bool connects_nowhere = false;     // by TCP
  bool scoped = false;               // signals and abstract sockets stay inside
  std::vector<std::string> missing;  // paths that no rule could be made for, with the reason
};

// The kernel's ABI; 0: it has no Landlock, or it is off.
int landlock_abi();

// From this ABI on, Landlock has its part of all that docs/security.md says of the sandbox.
inline constexpr int kLeastAbi = 6;
// What a kernel with that ABI (1 or later) does not keep the process from: "connecting by TCP (ABI 4, Linux 6.7)".
std::vector<std::string> landlock_gaps(int abi);

// False: nothing has changed, and `error` says why. Needs no_new_privs, and is for good.
bool limit_files(const FileRules& rules, Granted* granted, std::string* error);

}  // namespace drover::engine::sandbox
