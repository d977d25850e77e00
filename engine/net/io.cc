#include "engine/net/io.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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

}  // namespace drover::engine
