// Io by io_uring: a multishot receive a stream into buffers that all streams of the thread share, polls for other
// descriptors, and the sends of a turn in one system call.
//
// A completion names its request by a token: what it was, and the slot and generation of the stream or watch that it
// belongs to. Slots are used again; completions of an earlier generation only give their buffer back.
//
// Sends are tried once, in the system call that submits them (MSG_DONTWAIT), and complete in it; only those that fail
// or fall short post a completion. So the memory that they read is free again once submit() returns.
//
// A stream that has a place for its next bytes (StreamHandler::place) leaves its multishot receive for polls and
// recvmsg, until it has none any more.
//
// Completions of receives are carried out by the thread itself, when it asks for them (IORING_SETUP_DEFER_TASKRUN):
// polling an idle ring costs no system call.
//
// The kernel takes no other requests from a ring than those that are made here (restrict_requests): a seccomp filter
// does not see what is done through a ring.
//
//   uring_io.cc       the ring: requests, completions, watches of descriptors
//   uring_stream.cc   streams on it: receives, and the writes of a turn
#pragma once

#include <liburing.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/net/io.h"
#include "engine/net/uring_buffers.h"

namespace drover::engine {

namespace uring {

// What a request was for. kIgnored: its completion is dropped.
enum class Op : uint8_t { kIgnored, kWatch, kReceive, kReadable, kSend, kWritable };

struct Token {
  Op op;
  uint32_t generation;  // 24 bits
  uint32_t slot;

  static constexpr uint32_t kGenerations = 1u << 24;
  static Token of(uint64_t bits) {
    return {static_cast<Op>(bits >> 56), static_cast<uint32_t>(bits >> 32) % kGenerations, static_cast<uint32_t>(bits)};
  }
  constexpr uint64_t bits() const {
    return uint64_t{static_cast<uint8_t>(op)} << 56 | uint64_t{generation} << 32 | slot;
  }
};

inline constexpr uint64_t kIgnored = Token{Op::kIgnored, 0, 0}.bits();

// Of a ring that is not enabled yet: lets it take the requests of UringIo alone, for good. Empty, or what went wrong.
// Source: io_uring_register(2), IORING_REGISTER_RESTRICTIONS.
std::string restrict_requests(io_uring& ring);

struct Watch {
  int fd = -1;
  uint32_t events = 0;
  FdHandler* handler = nullptr;
};

}  // namespace uring

class UringIo;

class UringStream final : public ByteStream {
 public:
  UringStream(UringIo& io, UniqueFd fd, StreamHandler& handler) : io_(io), fd_(std::move(fd)), handler_(handler) {}
  ~UringStream() override { close(); }

  ssize_t write(const iovec* parts, size_t count) override;
  void want_writable() override;
  void pause_reading() override;
  bool read_paused(size_t most) override;
  void resume_reading() override;
  void end_writes() override { ::shutdown(fd_.get(), SHUT_WR); }
  void close() override;

 private:
  friend class UringIo;

  UringIo& io_;
  UniqueFd fd_;
  StreamHandler& handler_;
  uint32_t slot_ = 0;
  bool registered_ = false;  // the slot's number is its registered file
  bool writable_wanted_ = false;
  bool reading_ = false;  // a receive or a poll for it is with the kernel, or its last completion is on its way
  bool paused_ = false;
  // Its bytes go to the handler's places; the number of receives in a row without one after which that ends.
  bool placing_ = false;
  int patience_ = 0;
  // The write that is queued.
  msghdr message_{};
  size_t queued_bytes_ = 0;
  ssize_t result_ = 0;
};

class UringIo final : public Io {
 public:
  ~UringIo() override;
  // An empty string, or what is missing.
  std::string open();

  std::string_view name() const override { return "io_uring"; }
  bool add(int fd, uint32_t events, FdHandler* handler) override;
  bool modify(int fd, uint32_t events, FdHandler* handler) override;
  void remove(int fd) override;
  std::unique_ptr<ByteStream> open_stream(UniqueFd socket, StreamHandler& handler) override;
  size_t wait(int64_t wait_ns) override;
  void dispatch() override;
  void submit() override;

  using Op = uring::Op;
  void queue_write(UringStream& stream, const iovec* parts, size_t count);
  bool arm_writable(UringStream& stream) { return arm_poll(stream, Op::kWritable); }
  void pause(UringStream& stream);
  void resume(UringStream& stream);
  enum class Got : uint8_t { kNothing, kBytes, kEnd };
  Got read(UringStream& stream, size_t most);
  void close_stream(UringStream& stream);

 private:
  using Token = uring::Token;
  struct Slot {
    UringStream* stream = nullptr;
    uring::Watch watch;
    uint32_t generation = 0;
  };
  struct Completion {
    Token token;
    int32_t result;
    uint32_t flags;
  };
  // A queued write, and where its request stands in the submission queue.
  struct QueuedWrite {
    UringStream* stream;
    io_uring_sqe* request;
    unsigned position;
  };

  uint32_t take_slot();
  void free_slot(uint32_t slot);
  // The slot that the token means; null if it has been freed since.
  Slot* slot_of(const Token& token);
  Token token(Op op, uint32_t slot) const { return {op, slots_[slot].generation, slot}; }

  io_uring_sqe* request();
  // False: the kernel does not take requests.
  bool arm_watch(uint32_t slot);
  bool arm_receive(UringStream& stream);
  bool arm_poll(UringStream& stream, Op op);
  void receive_next(UringStream& stream, bool starved = false);
  void cancel(Token token);
  void address(io_uring_sqe* request, const UringStream& stream);
  void enter();
  void reap();
  bool keep(const Completion& completion);
  void withdraw_unsubmitted();

  void on_watch(const Completion& completion);
  void on_receive(const Completion& completion);
  void on_readable(const Completion& completion);
  void on_writable(const Completion& completion);

  io_uring ring_{};
  bool ring_made_ = false;
  bool enabled_ = false;
  unsigned registered_files_ = 0;

  UringBuffers buffers_;

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::unordered_map<int, uint32_t> watches_;  // by descriptor

  std::vector<Completion> completions_;  // taken from the ring, not yet dispatched
  std::vector<QueuedWrite> writes_;
  std::vector<QueuedWrite> writes_in_hand_;
};

}  // namespace drover::engine
