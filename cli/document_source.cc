#include "cli/document_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace drover::cli {
namespace {

constexpr int kLookMs = 50;  // how often a read looks whether it is stopped

}  // namespace

DocumentSource::~DocumentSource() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

std::string DocumentSource::open(const std::string& data) {
  if (!data.starts_with("@")) {
    documents_.add(data);
    documents_.end();
    return "";
  }
  name_ = data == "@" || data == "@-" ? "standard input" : data.substr(1);
  fd_ = name_ == "standard input" ? STDIN_FILENO : ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
  return fd_ >= 0 ? "" : name_ + ": " + std::strerror(errno);
}

bool DocumentSource::next(std::string* document, std::string* error) {
  while (!documents_.next(document)) {
    if (fd_ < 0 || !read_more(error)) return false;
  }
  return true;
}

// False: stopped, or an error.
bool DocumentSource::read_more(std::string* error) {
  char bytes[64 << 10];
  while (!stopped_.load()) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, kLookMs) == 0) continue;
    const ssize_t n = ::read(fd_, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) {
      *error = name_ + ": " + std::strerror(errno);
      return false;
    }
    if (n == 0) {
      if (fd_ > STDERR_FILENO) ::close(fd_);
      fd_ = -1;
      documents_.end();
    } else {
      documents_.add({bytes, static_cast<size_t>(n)});
    }
    return true;
  }
  return false;
}

}  // namespace drover::cli
