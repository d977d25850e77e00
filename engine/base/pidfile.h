// Pidfile: the file with this process's id, locked (flock) as long as the process has it.
//
// A file of that name that holds anything but a process id stays as it is, and so does one that a living process has
// locked; a link is not followed. What another process has put in our file's place is not removed.
// Thread-safety: one thread at a time.
#pragma once

#include <string>

#include "object/unique_fd.h"

namespace drover::engine {

class Pidfile {
 public:
  Pidfile() = default;
  Pidfile(const Pidfile&) = delete;
  Pidfile& operator=(const Pidfile&) = delete;
  ~Pidfile() { remove(); }

  // Makes or takes over the file, locked, without changing what it holds. False: `error` says why, with the name.
  bool take(const std::string& path, std::string* error);
  // Writes the process id into the file that is ours. Opens nothing.
  bool fill(std::string* error);
  // Both.
  bool write(const std::string& path, std::string* error) { return take(path, error) && fill(error); }
  // Removes the file that take() made. Nothing if it failed.
  void remove();

 private:
  std::string path_;
  UniqueFd file_;  // holds the lock
};

}  // namespace drover::engine
