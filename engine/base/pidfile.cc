#include "engine/base/pidfile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace drover::engine {
namespace {

constexpr size_t kMostBytes = 20;  // of a process id and its newline

// Whether the open file is the one that the name leads to.
bool is_named(int file, const std::string& path) {
  struct stat held, named;
  return ::fstat(file, &held) == 0 && ::lstat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

// What a pidfile may hold already: nothing, or a process id.
bool holds_process_id(int file, std::string* content) {
  char bytes[kMostBytes + 1];
  ssize_t size = ::pread(file, bytes, sizeof bytes, 0);
  if (size < 0 || static_cast<size_t>(size) > kMostBytes) return false;
  std::string_view text(bytes, static_cast<size_t>(size));
  if (text.ends_with('\n')) text.remove_suffix(1);
  *content = text;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool Pidfile::take(const std::string& path, std::string* error) {
  auto refuse = [&](const std::string& why) {
    *error = "cannot write '" + path + "': " + why;
    return false;
  };
  UniqueFd file;
  do {  // again if the process that had the file removed it between our open and our lock
    file.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
    if (!file) return refuse(std::strerror(errno));
    struct stat status;
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return refuse("it is not a regular file");
    std::string content;
    if (!holds_process_id(file.get(), &content)) {
      return refuse("it exists and holds something else than a process id; it stays as it is");
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return refuse("process " + content + " has it");
    }
  } while (!is_named(file.get(), path));
  std::string content;
  if (!holds_process_id(file.get(), &content)) return refuse("it changed");
  path_ = path;
  file_ = std::move(file);
  return true;
}

bool Pidfile::fill(std::string* error) {
  std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file_.get(), 0) == 0 &&
      ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return true;
  }
  *error = "cannot write '" + path_ + "': " + std::strerror(errno);
  file_.reset();
  return false;
}

void Pidfile::remove() {
  UniqueFd file = std::move(file_);
  if (file && is_named(file.get(), path_)) ::unlink(path_.c_str());
}

}  // namespace drover::engine
