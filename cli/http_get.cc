#include "cli/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "object/unique_fd.h"

namespace drover::cli {
namespace {

constexpr size_t kMostBytes = 64 << 20;
constexpr timeval kPatience{5, 0};

UniqueFd connect_to(const std::string& address, std::string* error) {
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
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    if (fd && ::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    *error = address + ": " + std::strerror(errno);
  }
  return {};
}

}  // namespace

std::string http_get(const std::string& address, const std::string& path, std::string* body) {
  std::string error;
  const UniqueFd fd = connect_to(address, &error);
  if (!fd) return error;
  const std::string request = "GET " + path + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return address + ": " + std::strerror(errno);
  }
  std::string reply;
  char bytes[64 << 10];
  while (true) {
    const ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return address + ": " + (errno == EAGAIN ? "no answer in 5 s" : std::strerror(errno));
    if (n == 0) break;
    reply.append(bytes, static_cast<size_t>(n));
    if (reply.size() > kMostBytes) return address + ": more than 64 MiB";
  }
  const size_t end = reply.find("\r\n\r\n");
  const std::string status = reply.substr(0, reply.find("\r\n"));
  if (end == std::string::npos || !status.starts_with("HTTP/1.") || status.find(" 200") == std::string::npos) {
    return address + path + ": expected HTTP 200, got '" + status.substr(0, 80) + "'";
  }
  *body = reply.substr(end + 4);
  return "";
}

}  // namespace drover::cli
