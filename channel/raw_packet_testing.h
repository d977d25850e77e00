// What a hostile peer puts on a control socket, for tests of both ends.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace drover {

// Any bytes and descriptors as one packet.
inline void send_raw_packet(int socket, std::string bytes, const std::vector<int>& fds) {
  iovec piece{bytes.data(), bytes.size()};
  msghdr out{};
  out.msg_iov = &piece;
  out.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(sizeof(int) * fds.size()));
  if (!fds.empty()) {
    out.msg_control = control.data();
    out.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&out);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
  }
  ASSERT_GE(::sendmsg(socket, &out, MSG_NOSIGNAL), 0) << std::strerror(errno);
}

}  // namespace drover
