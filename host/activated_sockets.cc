#include "host/activated_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace drover::host {
namespace {

constexpr int kMost = 1024;  // as droverd has it

// -1: there is no such variable, or it is no number.
int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return -1;
  int number = -1;
  const char* last = text + std::strlen(text);
  auto [end, error] = std::from_chars(text, last, number);
  return error == std::errc() && end == last ? number : -1;
}

// The service itself may have closed it, and have another descriptor of that number.
bool listens(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 1;
}

}  // namespace

ActivatedSockets activated_sockets() {
  ActivatedSockets out;
  const int count = number_in("LISTEN_FDS");
  if (number_in("LISTEN_PID") != ::getpid() || count <= 0 || count > kMost) return out;
  out.count = count;
  for (int fd = kFirstActivated; fd < kFirstActivated + count; ++fd) {
    if (!listens(fd)) continue;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    out.sockets.push_back(fd);
  }
  return out;
}

}  // namespace drover::host
