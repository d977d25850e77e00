// What an engine thread waits with and moves bytes with: epoll, or io_uring where the kernel allows it. One interface;
// nothing above it knows which one it is.
//
//   each turn:  wait -> dispatch (handlers are called) -> ... -> submit (queued writes are carried out)
//
// Thread-safety: none. Made and filled on any thread, then used by the thread of the first wait().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/net/byte_stream.h"
#include "object/unique_fd.h"

namespace drover::engine {

// Told of a descriptor's readiness, on the loop's thread.
class FdHandler {
 public:
  virtual void on_ready(uint32_t epoll_events) = 0;

 protected:
  ~FdHandler() = default;
};

enum class IoKind : uint8_t {
  kAuto,   // io_uring where it works, else epoll
  kUring,  // Linux 6.1 or later, and no seccomp profile that forbids it
  kEpoll,
};
// "auto", "uring", "epoll".
std::optional<IoKind> parse_io_kind(std::string_view text);

class Io {
 public:
  virtual ~Io() = default;
  // "epoll" or "io_uring".
  virtual std::string_view name() const = 0;

  // `events` as for epoll_ctl: EPOLLIN, EPOLLOUT or 0, and EPOLLET. The handler must outlive its registration. False:
  // errno says why.
  virtual bool add(int fd, uint32_t events, FdHandler* handler) = 0;
  virtual bool modify(int fd, uint32_t events, FdHandler* handler) = 0;
  virtual void remove(int fd) = 0;

  // The stream of a socket, connected and non-blocking. Sets TCP_NODELAY and SO_KEEPALIVE. Null: errno says why. The
  // handler must outlive the stream or its close().
  virtual std::unique_ptr<ByteStream> open_stream(UniqueFd socket, StreamHandler& handler) = 0;

  // Waits for events, at most `wait_ns`; 0: does not wait. The number that dispatch() has to tell of.
  virtual size_t wait(int64_t wait_ns) = 0;
  // Tells of them. Handlers may add, remove and close.
  virtual void dispatch() = 0;
  // Carries out what streams have queued (EINPROGRESS); on_written is called for each.
  virtual void submit() = 0;
};

std::unique_ptr<Io> make_epoll_io();
// Null where io_uring does not do what Drover needs; `why` says what is missing.
std::unique_ptr<Io> make_uring_io(std::string* why);
// As `kind` says. Null only with kUring; `why` is also set where kAuto fell back to epoll.
std::unique_ptr<Io> make_io(IoKind kind, std::string* why);

// For the kinds of Io.

// TCP_NODELAY and SO_KEEPALIVE.
void set_stream_options(int socket);

// A place below this size is not worth a receive of its own.
inline constexpr size_t kSmallestPlace = 16 << 10;

// What one recvmsg took: the first bytes into the place, those behind them into the buffer.
struct Received {
  ssize_t result;  // as recvmsg
  std::span<char> place;
  std::span<char> rest;
};
// With a place, only a little more than it is taken: what follows probably has a place, too.
Received receive_into_place(int socket, std::span<char> place, std::span<char> buffer);

}  // namespace drover::engine
