#include "channel/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "channel/doorbell.h"

namespace drover {
namespace {

constexpr int kBacklog = 64;
constexpr size_t kMostFdsOfAnyPacket = 253;  // SCM_MAX_FD of the kernel

bool fail(ControlError* error, ControlCode code, std::string message, int os_error = 0) {
  if (error != nullptr) {
    if (os_error != 0) message += std::string(": ") + std::strerror(os_error);
    *error = {code, std::move(message)};
  }
  return false;
}

struct Address {
  sockaddr_un socket{};
  socklen_t size = 0;
  std::string path;  // empty for an abstract name
};

bool parse_address(std::string_view text, Address* address, ControlError* error) {
  constexpr std::string_view kPrefix = "unix:";
  std::string_view name = text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : std::string_view();
  bool abstract = name.starts_with('@');
  size_t most = sizeof address->socket.sun_path - 1;
  if (name.size() <= (abstract ? 1u : 0u) || name.size() > most || name.find('\0') != std::string_view::npos) {
    return fail(error, ControlCode::kAddressInvalid,
                "'" + std::string(text.substr(0, 120)) +
                    "' is not the address of a control socket; expected unix:PATH or unix:@NAME, with 1 to " +
                    std::to_string(most) + " bytes after unix:");
  }
  address->socket.sun_family = AF_UNIX;
  std::memcpy(address->socket.sun_path, name.data(), name.size());
  if (abstract) {
    address->socket.sun_path[0] = '\0';
  } else {
    address->path = std::string(name);
  }
  // An abstract name has no terminator: all the bytes count.
  address->size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  return true;
}

UniqueFd make_socket(ControlError* error) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail(error, ControlCode::kSystem, "cannot make a Unix socket", errno);
  return fd;
}

// Time left until `deadline` as poll() takes it.
int left_ms(int64_t deadline) {
  if (deadline == kNoDeadline) return -1;
  int64_t left = deadline - monotonic_ns();
  return left <= 0 ? 0 : static_cast<int>(std::min<int64_t>((left + 999'999) / 1'000'000, INT32_MAX));
}

int64_t deadline_after(int timeout_ms) {
  return timeout_ms < 0 ? kNoDeadline : monotonic_ns() + int64_t{timeout_ms} * 1'000'000;
}

// Waits until `fd` may be ready for `events`. False: the time is over; `error` is kWouldBlock or kTimeout.
bool wait_for(int fd, short events, int timeout_ms, int64_t deadline, ControlError* error) {
  if (timeout_ms == 0) return fail(error, ControlCode::kWouldBlock, "nothing to do on the control socket yet");
  pollfd poll_fd{fd, events, 0};
  for (;;) {
    int left = left_ms(deadline);
    int ready = ::poll(&poll_fd, 1, left);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return fail(error, ControlCode::kSystem, "poll", errno);
    if (ready == 0 || left == 0) {
      return fail(error, ControlCode::kTimeout,
                  "the control socket was not ready within " + std::to_string(timeout_ms) + " ms");
    }
  }
}

bool connection_gone(int os_error) { return os_error == EPIPE || os_error == ECONNRESET || os_error == ENOTCONN; }

void take_fds(const msghdr& message, std::vector<UniqueFd>& fds) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&message), c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

// ---- ControlSocket

std::optional<ControlSocket> ControlSocket::adopt(UniqueFd fd, ControlError* error) {
  return adopt_from(fd, {}, error);
}

// `fd` stays the caller's after an error.
std::optional<ControlSocket> ControlSocket::adopt_from(UniqueFd& fd, std::span<const uid_t> users,
                                                       ControlError* error) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    fail(error, ControlCode::kBadDescriptor,
         "descriptor " + std::to_string(fd.get()) + " is not a SOCK_SEQPACKET socket");
    return std::nullopt;
  }
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  ControlSocket socket;
  socket.fd_ = std::move(fd);
  if (socket.check_peer(users, error)) return socket;
  fd = std::move(socket.fd_);
  return std::nullopt;
}

std::optional<ControlSocket> ControlSocket::connect(const std::string& address, int timeout_ms, ControlError* error) {
  Address parsed;
  if (!parse_address(address, &parsed, error)) return std::nullopt;
  int64_t deadline = deadline_after(timeout_ms);
  for (;;) {
    UniqueFd fd = make_socket(error);
    if (!fd) return std::nullopt;
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&parsed.socket), parsed.size) == 0) {
      return adopt(std::move(fd), error);
    }
    // The engine may be about to listen (ENOENT, ECONNREFUSED) or have a full backlog (EAGAIN).
    int why = errno;
    bool may_come = why == ENOENT || why == ECONNREFUSED || why == EAGAIN || why == EINTR;
    int left = left_ms(deadline);
    if (!may_come || left == 0) {
      ControlCode code = !may_come         ? ControlCode::kSystem
                         : timeout_ms != 0 ? ControlCode::kTimeout
                         : why == EAGAIN   ? ControlCode::kWouldBlock
                                           : ControlCode::kClosed;
      fail(error, code, "cannot connect to " + address, why);
      return std::nullopt;
    }
    ::poll(nullptr, 0, left < 0 ? 5 : std::min(left, 5));
  }
}

bool ControlSocket::pair(ControlSocket* a, ControlSocket* b, ControlError* error) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
    return fail(error, ControlCode::kSystem, "socketpair", errno);
  }
  UniqueFd first(fds[0]), second(fds[1]);
  auto end_a = adopt(std::move(first), error);
  auto end_b = adopt(std::move(second), error);
  if (!end_a || !end_b) return false;
  *a = std::move(*end_a);
  *b = std::move(*end_b);
  return true;
}

bool ControlSocket::check_peer(std::span<const uid_t> users, ControlError* error) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail(error, ControlCode::kSystem, "cannot read the peer's credentials", errno);
  }
  bool admitted = std::find(users.begin(), users.end(), peer.uid) != users.end();
  if (peer.uid != ::geteuid() && peer.uid != 0 && !admitted) {
    return fail(error, ControlCode::kPermissionDenied,
                "process " + std::to_string(peer.pid) + " runs as user " + std::to_string(peer.uid) +
                    ", expected user " + std::to_string(::geteuid()) + " or root");
  }
  peer_pid_ = peer.pid;
  peer_uid_ = peer.uid;
  return true;
}

bool ControlSocket::send(const ControlMessage& message, std::span<const int> fds, int timeout_ms, ControlError* error) {
  if (fds.size() != expected_fds(message)) {
    return fail(error, ControlCode::kBadDescriptor,
                std::string(control_type_name(control_type(message))) + " with " + std::to_string(fds.size()) +
                    " descriptors, expected " + std::to_string(expected_fds(message)));
  }
  std::string packet = encode_control(message, error);
  if (packet.empty()) return false;

  iovec piece{packet.data(), packet.size()};
  msghdr out{};
  out.msg_iov = &piece;
  out.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxControlFds)] = {};
  if (!fds.empty()) {
    out.msg_control = control;
    out.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&out);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
  }
  int64_t deadline = deadline_after(timeout_ms);
  for (;;) {
    if (::sendmsg(fd_.get(), &out, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) continue;
    if (connection_gone(errno)) return fail(error, ControlCode::kClosed, "the peer has closed the control socket");
    if (errno != EAGAIN) return fail(error, ControlCode::kSystem, "sendmsg on the control socket", errno);
    if (!wait_for(fd_.get(), POLLOUT, timeout_ms, deadline, error)) return false;
  }
}

std::optional<ControlMessage> ControlSocket::receive(std::vector<UniqueFd>* fds, int timeout_ms, ControlError* error) {
  fds->clear();
  std::string packet(kMaxControlPacket, '\0');
  // Room for all that a packet may carry: what does not fit is closed by the kernel, in this thread.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostFdsOfAnyPacket)];
  iovec piece{packet.data(), packet.size()};
  msghdr in{};
  int64_t deadline = deadline_after(timeout_ms);
  ssize_t size;
  bool reset = false;
  for (;;) {
    in = {};
    in.msg_iov = &piece;
    in.msg_iovlen = 1;
    in.msg_control = control;
    in.msg_controllen = sizeof control;
    size = ::recvmsg(fd_.get(), &in, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size >= 0) break;
    if (errno == EINTR) continue;
    // A peer that closed with packets of ours unread: what it had said before is there still, and says why it went.
    if (errno == ECONNRESET && !std::exchange(reset, true)) continue;
    if (connection_gone(errno)) {
      fail(error, ControlCode::kClosed, "the peer has closed the control socket");
      return std::nullopt;
    }
    if (errno != EAGAIN) {
      fail(error, ControlCode::kSystem, "recvmsg on the control socket", errno);
      return std::nullopt;
    }
    if (!wait_for(fd_.get(), POLLIN, timeout_ms, deadline, error)) return std::nullopt;
  }
  take_fds(in, *fds);
  if (size == 0) {
    fail(error, ControlCode::kClosed, "the peer has closed the control socket");
    return std::nullopt;
  }
  if ((in.msg_flags & MSG_TRUNC) != 0) {
    fail(error, ControlCode::kBadPacket, "a packet of more than " + std::to_string(kMaxControlPacket) + " bytes");
    return std::nullopt;
  }
  auto message = parse_control(std::string_view(packet).substr(0, static_cast<size_t>(size)), error);
  if (!message) return std::nullopt;
  if ((in.msg_flags & MSG_CTRUNC) != 0 || fds->size() != expected_fds(*message)) {
    fail(error, ControlCode::kBadDescriptor,
         std::string(control_type_name(control_type(*message))) + " came with " + std::to_string(fds->size()) +
             " descriptors" + ((in.msg_flags & MSG_CTRUNC) != 0 ? " and more that were cut off" : "") + ", expected " +
             std::to_string(expected_fds(*message)));
    return std::nullopt;
  }
  return message;
}

void ControlSocket::send_error(const ControlError& what, ControlType in_reply_to) {
  Error error;
  error.code = what.code == ControlCode::kNone ? ControlCode::kInternal : what.code;
  error.in_reply_to = in_reply_to;
  error.text = what.message.substr(0, kMaxControlString);
  ControlError ignored;
  send(error, 0, &ignored);
}

// ---- ControlListener

std::optional<ControlListener> ControlListener::listen(const std::string& address, ControlError* error) {
  Address parsed;
  if (!parse_address(address, &parsed, error)) return std::nullopt;
  auto* name = reinterpret_cast<sockaddr*>(&parsed.socket);
  UniqueFd fd = make_socket(error);
  if (!fd) return std::nullopt;
  ControlListener listener;
  if (parsed.path.empty()) {
    if (::bind(fd.get(), name, parsed.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
      fail(error, errno == EADDRINUSE ? ControlCode::kAddressInUse : ControlCode::kSystem, "cannot bind to " + address,
           errno);
      return std::nullopt;
    }
  } else {
    ::fchmod(fd.get(), 0600);  // the socket file is for its user alone from its first moment
    SocketFileError why;
    if (!listener.file_.listen(fd.get(), parsed.path, kBacklog, &why)) {
      ControlCode code = why.os_error == EADDRINUSE ? ControlCode::kAddressInUse
                         : why.os_error == ENOTSOCK ? ControlCode::kAddressInvalid
                                                    : ControlCode::kSystem;
      fail(error, code, "cannot listen at " + address + ": " + why.message);
      return std::nullopt;
    }
  }
  listener.fd_ = std::move(fd);
  listener.address_ = address;
  return listener;
}

void ControlListener::admit(std::vector<uid_t> users) {
  users_ = std::move(users);
  bool others = std::any_of(users_.begin(), users_.end(), [](uid_t user) { return user != ::geteuid() && user != 0; });
  const char* path = address_.c_str() + 5;  // behind "unix:"
  if (others && *path != '@') ::chmod(path, 0666);
}

std::optional<ControlSocket> ControlListener::accept(int timeout_ms, ControlError* error, UniqueFd* refused) {
  int64_t deadline = deadline_after(timeout_ms);
  for (;;) {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      auto socket = ControlSocket::adopt_from(fd, users_, error);
      if (!socket && refused != nullptr) *refused = std::move(fd);
      return socket;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      fail(error, ControlCode::kResourceExhausted, "cannot accept a connection", errno);
      return std::nullopt;
    }
    if (errno != EAGAIN) {
      fail(error, ControlCode::kSystem, "cannot accept a connection", errno);
      return std::nullopt;
    }
    if (!wait_for(fd_.get(), POLLIN, timeout_ms, deadline, error)) return std::nullopt;
  }
}

}  // namespace drover
