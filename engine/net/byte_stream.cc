#include "engine/net/byte_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>

namespace drover::engine {

SocketStream::SocketStream(UniqueFd fd) : fd_(std::move(fd)) {
  int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // fails on unix sockets, which do not need it
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

ssize_t SocketStream::write(const iovec* parts, size_t count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = std::min<size_t>(count, IOV_MAX);
  ssize_t n;
  do {
    n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n;
}

ssize_t SocketStream::read(char* buffer, size_t size) {
  ssize_t n;
  do {
    n = ::recv(fd_.get(), buffer, size, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n;
}

void SocketStream::end_writes() { ::shutdown(fd_.get(), SHUT_WR); }

}  // namespace drover::engine
