#include "engine/net/io.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace drover::engine {

std::optional<IoKind> parse_io_kind(std::string_view text) {
  if (text == "auto") return IoKind::kAuto;
  if (text == "uring") return IoKind::kUring;
  if (text == "epoll") return IoKind::kEpoll;
  return std::nullopt;
}

std::unique_ptr<Io> make_io(IoKind kind, std::string* why) {
  if (kind != IoKind::kEpoll) {
    std::unique_ptr<Io> uring = make_uring_io(why);
    if (uring || kind == IoKind::kUring) return uring;
  }
  return make_epoll_io();
}

void set_stream_options(int socket) {
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // fails on unix sockets, which do not need it
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

Received receive_into_place(int socket, std::span<char> place, std::span<char> buffer) {
  constexpr size_t kBehindPlace = 4 << 10;
  if (place.size() < kSmallestPlace) place = {};
  if (!place.empty()) buffer = buffer.first(std::min(buffer.size(), kBehindPlace));
  iovec parts[] = {{place.data(), place.size()}, {buffer.data(), buffer.size()}};
  msghdr message{};
  message.msg_iov = place.empty() ? parts + 1 : parts;
  message.msg_iovlen = place.empty() ? 1 : 2;
  ssize_t n;
  do {
    n = ::recvmsg(socket, &message, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  const auto size = static_cast<size_t>(std::max<ssize_t>(n, 0));
  const size_t placed = std::min(size, place.size());
  return {n, place.first(placed), buffer.first(size - placed)};
}

}  // namespace drover::engine
