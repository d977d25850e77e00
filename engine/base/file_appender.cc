#include "engine/base/file_appender.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/base/log.h"
#include "object/unique_fd.h"

namespace drover::engine {
namespace {

constexpr int kMostWaitMs = 1000;
constexpr uint32_t kMostFurther = 1000;  // old files that a lower number of them leaves behind

// What waits for a reader, such as a FIFO, must not hold the thread up for good.
UniqueFd open_end(const std::string& path, mode_t mode) {
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, mode));
}

std::string told(const std::string& what) { return what + ": " + std::strerror(errno); }

}  // namespace

FileAppender::FileAppender(std::string path, mode_t mode, FileRotation rotation)
    : path_(std::move(path)), mode_(mode), rotation_(rotation), begin_anew_(rotation.starts_anew) {}

std::string FileAppender::append(std::string_view bytes) {
  UniqueFd fd = open_end(path_, mode_);
  if (!fd) return told(path_);
  if (must_rotate(fd.get(), bytes.size())) {
    if (std::string wrong = rotate(); wrong.empty()) {
      fd = open_end(path_, mode_);
      if (!fd) return told(path_);
    } else if (begin_anew_) {
      return wrong;  // behind an end that is cut short nothing could be read
    } else if (!std::exchange(told_of_rotation_, true)) {
      log::error("file not rotated: it grows beyond its limit", {{"file", path_}, {"why", wrong}});
    }
  }
  begin_anew_ = false;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_room(fd.get())))) continue;
    if (n <= 0) {
      if (n == 0) errno = EIO;
      begin_anew_ = done != 0 && rotation_.max_bytes != 0;
      return told(path_);
    }
    done += static_cast<size_t>(n);
    is_read_ = true;
  }
  return "";
}

// Of a FIFO. One without a reader is waited for once, so that waits of many writes do not add up.
bool FileAppender::wait_for_room(int fd) {
  pollfd room{fd, POLLOUT, 0};
  is_read_ = ::poll(&room, 1, is_read_ ? kMostWaitMs : 0) > 0;
  if (!is_read_) errno = EAGAIN;
  return is_read_;
}

// An empty file is as good as a new one.
bool FileAppender::must_rotate(int fd, size_t bytes) const {
  struct stat status;
  if (rotation_.max_bytes == 0 || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    return false;
  }
  return begin_anew_ || static_cast<uint64_t>(status.st_size) + bytes > rotation_.max_bytes;
}

std::string FileAppender::rotate() {
  if (!std::exchange(removed_further_, true)) remove_further();
  if (rotation_.old_files == 0) return ::unlink(path_.c_str()) == 0 ? "" : told(path_);
  for (uint32_t number = rotation_.old_files; number != 0; --number) {
    const std::string from = number == 1 ? path_ : old_name(number - 1);
    if (::rename(from.c_str(), old_name(number).c_str()) != 0 && errno != ENOENT) return told(from);
  }
  return "";
}

void FileAppender::remove_further() const {
  for (uint32_t i = 1; i <= kMostFurther; ++i) {
    if (::unlink(old_name(rotation_.old_files + i).c_str()) != 0 && errno == ENOENT) return;
  }
}

}  // namespace drover::engine
