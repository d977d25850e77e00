#include "cli/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/printable.h"
#include "object/unique_fd.h"

namespace drover::cli {
namespace {

constexpr size_t kMostBytes = 64 << 20;
using Clock = std::chrono::steady_clock;

// The next operation on the socket ends then at the latest. False: it is later already.
bool wait_until(int fd, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
  if (left <= 0) return false;
  timeval time{};
  time.tv_sec = left / 1'000'000;
  time.tv_usec = left % 1'000'000;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  return true;
}

std::string late(const std::string& address, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, ": no whole answer in %g s", seconds);
  return address + text;
}

UniqueFd connect_to(const std::string& address, Clock::time_point end, std::string* error) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    *error = "'" + address + "' is not HOST:PORT";
    return {};
  }
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int code = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found); code != 0) {
    *error = address + ": " + ::gai_strerror(code);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // Half of the time at most: a further address may answer.
    const Clock::time_point now = Clock::now(), half = now + (end - now) / 2;
    if (fd && !wait_until(fd.get(), one->ai_next == nullptr ? end : half)) break;
    if (fd && ::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    *error = address + ": " + std::strerror(errno == EINPROGRESS ? ETIMEDOUT : errno);
  }
  if (error->empty()) *error = address + ": " + std::strerror(ETIMEDOUT);
  return {};
}

}  // namespace

std::string http_get(const std::string& address, const std::string& path, std::string* body, double seconds) {
  std::string error;
  const auto last = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const UniqueFd fd = connect_to(address, last, &error);
  if (!fd) return error;
  if (!wait_until(fd.get(), last)) return late(address, seconds);
  const std::string request = "GET " + path + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return address + ": " + std::strerror(errno);
  }
  std::string reply;
  char bytes[64 << 10];
  while (true) {
    if (!wait_until(fd.get(), last)) return late(address, seconds);
    const ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN ? late(address, seconds) : address + ": " + std::strerror(errno);
    if (n == 0) break;
    reply.append(bytes, static_cast<size_t>(n));
    if (reply.size() > kMostBytes) return address + ": more than 64 MiB";
  }
  const size_t end = reply.find("\r\n\r\n");
  const std::string status = reply.substr(0, reply.find("\r\n"));
  if (end == std::string::npos || !status.starts_with("HTTP/1.") || status.find(" 200") == std::string::npos) {
    return address + path + ": expected HTTP 200, got '" + printable_line(status.substr(0, 80)) + "'";
  }
  *body = reply.substr(end + 4);
  return "";
}

}  // namespace drover::cli
