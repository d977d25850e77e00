// ControlSocket: a Unix SOCK_SEQPACKET connection that carries ControlMessages and file descriptors.
//
// Addresses: "unix:PATH" (a file, mode 0600) or "unix:@NAME" (an abstract name of Linux). A peer that runs neither as
// the same user nor as root is refused (SO_PEERCRED).
//
// Blocking calls take a time-out in milliseconds: 0 tries once (what an event loop does), -1 waits for ever.
// Thread-safety: one thread at a time. Every descriptor is close-on-exec.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "channel/control.h"
#include "channel/socket_file.h"

namespace drover {

class ControlSocket {
 public:
  ControlSocket() = default;
  // Takes over a connected SOCK_SEQPACKET descriptor (a child's end of `pair`); checks the peer's credentials.
  static std::optional<ControlSocket> adopt(UniqueFd fd, ControlError* error);
  // With a time-out, waits for an engine that does not listen yet. Without: kClosed if none listens there, kWouldBlock
  // if one does but has no room for another connection now.
  static std::optional<ControlSocket> connect(const std::string& address, int timeout_ms, ControlError* error);
  // Both ends of a new connection inside this process; one is meant for a child.
  static bool pair(ControlSocket* a, ControlSocket* b, ControlError* error);

  // One packet out, with its descriptors (which stay the caller's). kWouldBlock/kTimeout: not sent at all. For an
  // engine (timeout 0) kWouldBlock means that the host does not read: it may drop it.
  bool send(const ControlMessage& message, std::span<const int> fds, int timeout_ms, ControlError* error);
  bool send(const ControlMessage& message, int timeout_ms, ControlError* error) {
    return send(message, {}, timeout_ms, error);
  }

  // One packet in. The descriptors are exactly `expected_fds(message)`; any others make the packet an error. Null with
  // kClosed: the peer has gone. After kBadPacket the connection is still usable, though there is little reason to go on
  // with such a peer. After an error `fds` holds what came with the packet: closing it may take as long as the peer
  // likes (a socket that lingers, a file of a file system of its own), so the caller says where that happens. The same
  // is true of this socket's own close, as long as packets with descriptors lie in it unread.
  std::optional<ControlMessage> receive(std::vector<UniqueFd>* fds, int timeout_ms, ControlError* error);

  // Sends an Error and ignores whether it arrived.
  void send_error(const ControlError& what, ControlType in_reply_to);

  int fd() const { return fd_.get(); }  // for an event loop: EPOLLIN
  UniqueFd release() { return std::move(fd_); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void close() { fd_.reset(); }

  pid_t peer_pid() const { return peer_pid_; }
  uid_t peer_uid() const { return peer_uid_; }

 private:
  friend class ControlListener;
  static std::optional<ControlSocket> adopt_from(UniqueFd& fd, std::span<const uid_t> users, ControlError* error);
  bool check_peer(std::span<const uid_t> users, ControlError* error);

  UniqueFd fd_;
  pid_t peer_pid_ = 0;
  uid_t peer_uid_ = 0;
};

class ControlListener {
 public:
  ControlListener() = default;
  // A socket file without a listener is replaced; with a listener the error is kAddressInUse. Any other file stays:
  // kAddressInvalid (channel/socket_file.h).
  static std::optional<ControlListener> listen(const std::string& address, ControlError* error);
  ControlListener(ControlListener&& other) noexcept = default;
  ControlListener& operator=(ControlListener&& other) noexcept = default;
  // Removes its socket file.
  ~ControlListener() = default;

  // Peers of these users are let in, too. A socket file is opened to everybody then: the kernel's word on the peer
  // decides, and its directory.
  void admit(std::vector<uid_t> users);

  // kPermissionDenied: somebody else tried; go on accepting. The connection is then in `refused`, for the caller to
  // close; null: closed at once.
  std::optional<ControlSocket> accept(int timeout_ms, ControlError* error, UniqueFd* refused = nullptr);

  int fd() const { return fd_.get(); }
  const std::string& address() const { return address_; }

 private:
  UniqueFd fd_;
  std::vector<uid_t> users_;  // that are let in besides this process's and root
  std::string address_;
  SocketFile file_;  // none for an abstract name
};

}  // namespace drover
