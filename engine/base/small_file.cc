#include "engine/base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace drover::engine {

FileStamp stamp_of(const std::string& path) {
  struct stat status;
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size,
          int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

bool read_small_file(const std::string& path, size_t most, SecretText* out, std::string* error) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (fd < 0 || ::fstat(fd, &status) != 0) {
    *error = path + ": " + std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return false;
  }
  const bool regular = S_ISREG(status.st_mode) && status.st_size <= static_cast<off_t>(most);
  out->resize(regular ? static_cast<size_t>(status.st_size) : 0);
  const ssize_t n = regular ? ::pread(fd, out->data(), out->size(), 0) : -1;
  ::close(fd);
  if (n == static_cast<ssize_t>(out->size())) return true;
  *out = SecretText();
  *error = path + ": " +
           (regular ? "it changed while it was read" : "not a file of at most " + std::to_string(most >> 20) + " MiB");
  return false;
}

}  // namespace drover::engine
