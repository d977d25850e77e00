// UdpPort: a UDP socket in an engine thread's event loop, on either kind of Io. UdpBatch: the datagrams of a turn, sent
// by few system calls.
//
//   Io: readable -> UdpPort::receive -> recvmmsg, up to 16 x 64 KiB (UDP_GRO: several datagrams of one sender in each)
//   UdpBatch::send ... finish -> sendmmsg (UDP_SEGMENT: up to 44 datagrams to one address in each message)
//
// Thread-safety: none; one engine thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/datagram/peer_link.h"
#include "engine/datagram/udp_address.h"
#include "engine/net/io.h"
#include "engine/net/socket_address.h"
#include "object/unique_fd.h"

namespace drover::engine {

// Where datagrams are received; one for all ports of a thread.
class UdpBuffers {
 public:
  static constexpr size_t kMessages = 16;
  static constexpr size_t kBytes = 64 << 10;

  UdpBuffers();
  std::array<mmsghdr, kMessages>& reset();
  std::span<const std::byte> bytes(size_t message) const { return {memory_.get() + message * kBytes, kBytes}; }

 private:
  struct alignas(cmsghdr) Control {
    char bytes[64];
  };
  std::unique_ptr<std::byte[]> memory_;
  std::array<mmsghdr, kMessages> messages_{};
  std::array<iovec, kMessages> parts_{};
  std::array<sockaddr_storage, kMessages> from_{};
  std::array<Control, kMessages> control_{};
};

class UdpPort final : private FdHandler {
 public:
  // Told of each datagram. `truncated`: it was longer than a buffer.
  using Visitor = std::function<void(const UdpAddress& from, std::span<const std::byte> bytes, bool truncated)>;

  // Null: `error` says why. An address in use is tried again for 2 s: at start only. `shared`: other engine threads
  // have ports at the same address.
  static std::unique_ptr<UdpPort> open(const SocketAddress& address, bool shared, Io& io, UdpBuffers& buffers,
                                       std::function<void(UdpPort&)> readable, std::string* error);
  ~UdpPort();
  UdpPort(const UdpPort&) = delete;
  UdpPort& operator=(const UdpPort&) = delete;

  int fd() const { return fd_.get(); }
  UdpAddress address() const;  // that it is bound to
  bool segments() const { return segments_; }

  // Takes what has come, at most kCalls times kMessages messages.
  void receive(const Visitor& visitor);
  static constexpr int kCalls = 2;

 private:
  UdpPort(UniqueFd fd, Io& io, UdpBuffers& buffers, std::function<void(UdpPort&)> readable)
      : fd_(std::move(fd)), io_(io), buffers_(buffers), readable_(std::move(readable)) {}
  void on_ready(uint32_t) override { readable_(*this); }
  void set_options();

  UniqueFd fd_;
  Io& io_;
  UdpBuffers& buffers_;
  const std::function<void(UdpPort&)> readable_;
  bool segments_ = false;  // the kernel splits what is sent
};

class UdpBatch final : public DatagramOut {
 public:
  explicit UdpBatch(std::span<const std::unique_ptr<UdpPort>> ports) : ports_(ports) {}

  void send(uint32_t port, const UdpAddress& to, std::span<const std::byte> head, std::span<const Slot> first,
            std::span<const Slot> second) override;
  void finish();

  uint64_t sent() const { return sent_; }      // datagrams
  uint64_t failed() const { return failed_; }  // that the kernel did not take
  uint64_t calls() const { return calls_; }    // system calls

 private:
  static constexpr size_t kMessages = 64, kDatagrams = 512;
  static constexpr size_t kMostSegments = 44;  // 44 x 1,430 bytes fit a UDP length
  struct Head {
    std::byte bytes[kLinkHeadSize + sizeof(LinkRecord)];
  };
  struct Message {
    UdpAddress to;
    uint32_t port = 0;
    size_t first_part = 0, datagrams = 0;
    size_t size = 0, last_size = 0;  // of each datagram but the last
  };
  struct alignas(cmsghdr) Control {
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
  };
  bool join(uint32_t port, const UdpAddress& to, size_t size) const;
  void fill(size_t message);
  void send_messages(size_t first, size_t count);

  const std::span<const std::unique_ptr<UdpPort>> ports_;
  std::array<Head, kDatagrams> heads_;
  std::array<iovec, 3 * kDatagrams> parts_;
  std::array<Message, kMessages> messages_;
  std::array<mmsghdr, kMessages> out_;
  std::array<sockaddr_storage, kMessages> to_;
  std::array<Control, kMessages> control_;
  size_t count_ = 0, datagrams_ = 0, used_parts_ = 0;
  uint64_t sent_ = 0, failed_ = 0, calls_ = 0;
};

}  // namespace drover::engine
