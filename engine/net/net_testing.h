// For tests with real sockets: a client's connection, the first bytes that it receives, and waiting for a condition.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "engine/net/socket_address.h"
#include "object/unique_fd.h"

namespace drover::engine {

// Connects to an address as listeners take it. Empty: refused.
// From the IPv4 address `from`, if there is one.
inline UniqueFd connect_to(const std::string& address, const char* from = nullptr) {
  ParsedAddress parsed = parse_listen_address(address);
  if (!parsed.error.empty()) return UniqueFd();
  const SocketAddress& to = parsed.candidates.front();
  UniqueFd fd(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (from != nullptr) {
    sockaddr_in local{};
    local.sin_family = AF_INET;
    inet_pton(AF_INET, from, &local.sin_addr);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) return UniqueFd();
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.size) != 0) return UniqueFd();
  timeval timeout{5, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  return fd;
}

// The first bytes that the other end sends; empty if it closed.
inline std::string hello(const UniqueFd& fd) {
  char bytes[200];
  ssize_t n;
  do {
    n = ::recv(fd.get(), bytes, sizeof bytes, 0);
  } while (n < 0 && errno == EINTR);  // the end of an io_uring interrupts the thread that made it
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

// Reads until the other end closes; false if it does not within the socket's time-out.
inline bool closes(const UniqueFd& fd) {
  char bytes[4096];
  ssize_t n;
  do {
    n = ::recv(fd.get(), bytes, sizeof bytes, 0);
  } while (n > 0 || (n < 0 && errno == EINTR));
  return n == 0 || errno == ECONNRESET;
}

// True once `what()` is; false after five seconds.
inline bool eventually(const std::function<bool()>& what) {
  for (int i = 0; i < 500; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace drover::engine
