#include "engine/datagram/udp_port.h"

#include <netinet/udp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace drover::engine {
namespace {

constexpr int kSocketBuffer = 4 << 20;

bool set(int fd, int level, int name, int value) { return ::setsockopt(fd, level, name, &value, sizeof value) == 0; }

// What the kernel has joined; 0: it is one datagram.
size_t segment_size(msghdr& message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_UDP || control->cmsg_type != UDP_GRO) continue;
    int size = 0;
    std::memcpy(&size, CMSG_DATA(control), sizeof size);
    return static_cast<size_t>(std::max(size, 0));
  }
  return 0;
}

}  // namespace

// ---- receiving

namespace {

// The kernel ends the io_uring of an engine that was killed a moment after its process, and the socket with it.
bool bind_when_free(int fd, const SocketAddress& address) {
  constexpr int kTries = 200;
  constexpr std::chrono::milliseconds kRetry(10);
  for (int i = 0;; ++i) {
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0) return true;
    if (errno != EADDRINUSE || i == kTries) return false;
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

UdpBuffers::UdpBuffers() : memory_(new std::byte[kMessages * kBytes]) {
  for (size_t i = 0; i < kMessages; ++i) {
    parts_[i] = {memory_.get() + i * kBytes, kBytes};
    msghdr& message = messages_[i].msg_hdr;
    message.msg_name = &from_[i];
    message.msg_iov = &parts_[i];
    message.msg_iovlen = 1;
    message.msg_control = &control_[i];
  }
}

std::array<mmsghdr, UdpBuffers::kMessages>& UdpBuffers::reset() {
  for (mmsghdr& each : messages_) {
    each.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    each.msg_hdr.msg_controllen = sizeof(Control);
    each.msg_hdr.msg_flags = 0;
  }
  return messages_;
}

std::unique_ptr<UdpPort> UdpPort::open(const SocketAddress& address, bool shared, Io& io, UdpBuffers& buffers,
                                       std::function<void(UdpPort&)> readable, std::string* error) {
  auto refuse = [error](const char* what) {
    *error = std::string(what) + ": " + std::strerror(errno);
    return nullptr;
  };
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return refuse("socket");
  if (address.storage.ss_family == AF_INET6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, address.dual_stack ? 0 : 1);
  if (shared && !set(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1)) return refuse("SO_REUSEPORT");
  if (!bind_when_free(fd.get(), address)) return refuse("bind");
  auto port = std::unique_ptr<UdpPort>(new UdpPort(std::move(fd), io, buffers, std::move(readable)));
  port->set_options();
  if (!io.add(port->fd(), EPOLLIN, port.get())) return refuse("the event loop");
  return port;
}

// What the kernel does not have is done without.
void UdpPort::set_options() {
  const int fd = fd_.get();
  if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, kSocketBuffer)) set(fd, SOL_SOCKET, SO_RCVBUF, kSocketBuffer);
  if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, kSocketBuffer)) set(fd, SOL_SOCKET, SO_SNDBUF, kSocketBuffer);
  set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
  segments_ = set(fd, SOL_UDP, UDP_SEGMENT, 0);
  set(fd, SOL_UDP, UDP_GRO, 1);
}

UdpPort::~UdpPort() { io_.remove(fd_.get()); }

UdpAddress UdpPort::address() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  return UdpAddress::from(storage);
}

void UdpPort::receive(const Visitor& visitor) {
  for (int call = 0; call < kCalls; ++call) {
    auto& messages = buffers_.reset();
    const int count =
        ::recvmmsg(fd_.get(), messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT, nullptr);
    if (count < 0 && errno == EINTR) continue;
    for (int i = 0; i < count; ++i) {
      mmsghdr& each = messages[static_cast<size_t>(i)];
      const UdpAddress from = UdpAddress::from(*static_cast<const sockaddr_storage*>(each.msg_hdr.msg_name));
      std::span<const std::byte> bytes = buffers_.bytes(static_cast<size_t>(i)).first(each.msg_len);
      const size_t segment = segment_size(each.msg_hdr);
      const bool truncated = (each.msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
      while (segment != 0 && bytes.size() > segment) {
        visitor(from, bytes.first(segment), false);
        bytes = bytes.subspan(segment);
      }
      visitor(from, bytes, truncated);
    }
    if (count < static_cast<int>(UdpBuffers::kMessages)) return;
  }
}

// ---- sending

bool UdpBatch::join(uint32_t port, const UdpAddress& to, size_t size) const {
  if (count_ == 0) return false;
  const Message& last = messages_[count_ - 1];
  return last.port == port && ports_[port]->segments() && last.datagrams < kMostSegments &&
         last.last_size == last.size && size <= last.size && last.to == to;
}

void UdpBatch::send(uint32_t port, const UdpAddress& to, std::span<const std::byte> head, std::span<const Slot> first,
                    std::span<const Slot> second) {
  if (count_ == kMessages || datagrams_ == kDatagrams) finish();
  const size_t size = head.size() + first.size_bytes() + second.size_bytes();
  if (!join(port, to, size)) {
    messages_[count_++] = {.to = to, .port = port, .first_part = used_parts_, .size = size};
  }
  Message& message = messages_[count_ - 1];
  ++message.datagrams;
  message.last_size = size;
  std::byte* copy = heads_[datagrams_++].bytes;
  std::memcpy(copy, head.data(), head.size());
  parts_[used_parts_++] = {copy, head.size()};
  for (std::span<const Slot> part : {first, second}) {
    if (!part.empty()) parts_[used_parts_++] = {const_cast<Slot*>(part.data()), part.size_bytes()};
  }
}

void UdpBatch::fill(size_t index) {
  const Message& message = messages_[index];
  msghdr& out = out_[index].msg_hdr;
  out = msghdr{};
  out.msg_name = &to_[index];
  out.msg_namelen = message.to.to(&to_[index]);
  out.msg_iov = &parts_[message.first_part];
  const size_t end = index + 1 == count_ ? used_parts_ : messages_[index + 1].first_part;
  out.msg_iovlen = end - message.first_part;
  if (message.datagrams == 1) return;
  out.msg_control = &control_[index];
  out.msg_controllen = sizeof(Control);
  cmsghdr* control = CMSG_FIRSTHDR(&out);
  control->cmsg_level = SOL_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
  const auto size = static_cast<uint16_t>(message.size);
  std::memcpy(CMSG_DATA(control), &size, sizeof size);
}

// Of one port. A message that the kernel does not take is lost, as in the network.
void UdpBatch::send_messages(size_t first, size_t count) {
  const int fd = ports_[messages_[first].port]->fd();
  while (count != 0) {
    ++calls_;
    const int done = ::sendmmsg(fd, &out_[first], static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    const size_t skip = done > 0 ? static_cast<size_t>(done) : 1;
    if (done <= 0) failed_ += messages_[first].datagrams;
    first += skip;
    count -= skip;
  }
}

void UdpBatch::finish() {
  for (size_t i = 0; i < count_; ++i) fill(i);
  for (size_t first = 0, i = 0; i < count_; first = i) {
    while (i < count_ && messages_[i].port == messages_[first].port) ++i;
    send_messages(first, i - first);
  }
  sent_ += datagrams_;
  count_ = datagrams_ = used_parts_ = 0;
}

}  // namespace drover::engine
