// SocketFile: the name of a listening Unix socket in the file system, from listen() until it is removed.
//
//   listen:  lock the directory | bind, or first remove a socket of that name that refuses connections | listen |
//   unlock remove:  lock the directory | unlink, if the name still leads to the socket that listen() bound     | unlock
//
// What is no socket is never removed: a file, a directory or a link of that name stays, and is an error. Between the
// look at a name and its removal, its inode is held (O_PATH) and compared, and the lock (flock on the directory) keeps
// out all others that go by this file: no engine sees another's socket between its bind and its listen, when it
// refuses connections though it is alive. A program that ignores the lock has a few microseconds to put a socket of its
// own in the place of one that was just found dead; Linux has no call that removes a name only if it leads to a certain
// inode.
//
// Without the right to read the directory there is no lock; names are then neither replaced nor removed.
// Thread-safety: one thread at a time. A name is looked up here as the caller gives it: one on a file system that does
// not answer holds the caller up.
#pragma once

#include <string>

#include "object/unique_fd.h"

namespace drover {

struct SocketFileError {
  int os_error = 0;     // EADDRINUSE: somebody listens there; ENOTSOCK: the name belongs to something else
  std::string message;  // with the name
};

class SocketFile {
 public:
  SocketFile() = default;
  SocketFile(SocketFile&&) noexcept = default;
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile() { remove(); }

  // Binds `socket`, a stream or packet socket, to `path` and lets it listen. The file gets the permissions that were
  // set with fchmod on the socket, less the umask.
  bool listen(int socket, const std::string& path, int backlog, SocketFileError* error);
  // Of the last listen() that succeeded.
  const std::string& path() const { return path_; }
  // Removes the name if it is still ours. Nothing without a listen(), and the second time.
  void remove();

  static constexpr int kLockMs = 20;  // how long another engine may hold the lock, which takes it microseconds

 private:
  std::string path_;
  UniqueFd inode_;  // of our socket; keeps its number from being used again
};

// Removes the socket of that name if it refuses connections: an engine that was killed left it. False: it stays.
bool remove_dead_socket(const std::string& path);

}  // namespace drover
