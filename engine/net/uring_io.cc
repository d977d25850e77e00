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
#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "engine/base/heap.h"
#include "engine/net/io.h"
#include "engine/net/uring_buffers.h"

namespace drover::engine {

namespace {

constexpr unsigned kSubmissions = 512;
constexpr unsigned kCompletions = 8192;
constexpr unsigned kMaxRegisteredFiles = 65'536;
constexpr int kSubmitTries = 100;

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

constexpr uint64_t kIgnored = Token{Op::kIgnored, 0, 0}.bits();

struct Watch {
  int fd = -1;
  uint32_t events = 0;
  FdHandler* handler = nullptr;
};

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

// A queued write, and where its request stands in the submission queue.
struct QueuedWrite {
  UringStream* stream;
  io_uring_sqe* request;
  unsigned position;
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

  void queue_write(UringStream& stream, const iovec* parts, size_t count);
  bool arm_writable(UringStream& stream) { return arm_poll(stream, Op::kWritable); }
  void pause(UringStream& stream);
  void resume(UringStream& stream);
  enum class Got : uint8_t { kNothing, kBytes, kEnd };
  Got read(UringStream& stream, size_t most);
  void close_stream(UringStream& stream);

 private:
  struct Slot {
    UringStream* stream = nullptr;
    Watch watch;
    uint32_t generation = 0;
  };
  struct Completion {
    Token token;
    int32_t result;
    uint32_t flags;
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
  void receive_next(UringStream& stream);
  void cancel(Token token);
  void address(io_uring_sqe* request, const UringStream& stream);
  void enter();
  void reap();
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
  bool keep(const Completion& completion);

  std::vector<Completion> completions_;  // taken from the ring, not yet dispatched
  std::vector<QueuedWrite> writes_;
  std::vector<QueuedWrite> writes_in_hand_;
};

// ---- Streams.

ssize_t UringStream::write(const iovec* parts, size_t count) {
  io_.queue_write(*this, parts, count);
  errno = EINPROGRESS;
  return -1;
}

void UringStream::want_writable() { writable_wanted_ = writable_wanted_ || io_.arm_writable(*this); }

void UringStream::pause_reading() {
  if (fd_) io_.pause(*this);
}

bool UringStream::read_paused(size_t most) {
  return fd_ && !reading_ && io_.read(*this, most) != UringIo::Got::kNothing;
}

void UringStream::resume_reading() {
  if (fd_) io_.resume(*this);
}

void UringStream::close() {
  if (!fd_) return;
  io_.close_stream(*this);
  fd_.reset();
}

// ---- The ring.

std::string UringIo::open() {
  io_uring_params params{};
  params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED;
  params.cq_entries = kCompletions;
  if (int error = io_uring_queue_init_params(kSubmissions, &ring_, &params); error < 0) {
    if (error == -EINVAL) return "this kernel's io_uring is older than Linux 6.1";
    return std::string("io_uring_setup: ") + std::strerror(-error);
  }
  ring_made_ = true;
  if (std::string wrong = buffers_.open(ring_); !wrong.empty()) return wrong;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const auto wanted = static_cast<unsigned>(std::min<rlim_t>(files.rlim_cur, kMaxRegisteredFiles));
  if (io_uring_register_files_sparse(&ring_, wanted) == 0) registered_files_ = wanted;  // without: by descriptor
  return {};
}

UringIo::~UringIo() {
  if (ring_made_) io_uring_queue_exit(&ring_);
}

uint32_t UringIo::take_slot() {
  if (free_slots_.empty()) {
    heap::reserve(free_slots_, slots_.size() + 1);  // freeing takes no memory
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void UringIo::free_slot(uint32_t slot) {
  const uint32_t next = (slots_[slot].generation + 1) % Token::kGenerations;
  slots_[slot] = {};
  slots_[slot].generation = next;
  free_slots_.push_back(slot);
}

UringIo::Slot* UringIo::slot_of(const Token& token) {
  if (token.slot >= slots_.size() || slots_[token.slot].generation != token.generation) return nullptr;
  return &slots_[token.slot];
}

// The next request to fill in, token last. Null: the kernel does not take requests.
io_uring_sqe* UringIo::request() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe) return sqe;
  enter();
  return io_uring_get_sqe(&ring_);
}

// Submits the requests; those that complete at once have then completed.
void UringIo::enter() {
  for (int i = 0; i < kSubmitTries && io_uring_sq_ready(&ring_) > 0; ++i) {
    const int result = io_uring_submit(&ring_);
    if (result >= 0) continue;
    if (result != -EBUSY && result != -EAGAIN && result != -EINTR) return;  // not enabled yet, or another thread's
    io_uring_get_events(&ring_);                                            // completions that wait for room
    reap();
  }
}

// Takes completions from the ring: those of sends are noted with their streams, others wait for dispatch(). Without
// memory for more, others stay in the ring until the next time.
void UringIo::reap() {
  unsigned head, count = 0;
  bool room = true;
  io_uring_cqe* cqe;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    const Token token = Token::of(cqe->user_data);
    if (token.op == Op::kSend) {
      if (Slot* slot = slot_of(token); slot && slot->stream) slot->stream->result_ = cqe->res;
      cqe->user_data = kIgnored;  // noted, should it stay
    } else if (room && (token.op != Op::kIgnored || (cqe->flags & IORING_CQE_F_BUFFER) != 0)) {
      room = keep({token, cqe->res, cqe->flags});
    }
    if (room) ++count;
  }
  io_uring_cq_advance(&ring_, count);
}

bool UringIo::keep(const Completion& completion) {
  try {
    completions_.push_back(completion);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

size_t UringIo::wait(int64_t wait_ns) {
  if (!enabled_) {
    io_uring_enable_rings(&ring_);
    io_uring_register_ring_fd(&ring_);
    enabled_ = true;
  }
  if (wait_ns > 0 && completions_.empty() && io_uring_cq_ready(&ring_) == 0) {
    __kernel_timespec timeout{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    io_uring_cqe* cqe;
    io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &timeout, nullptr);
  } else if (io_uring_sq_ready(&ring_) > 0) {
    io_uring_submit_and_get_events(&ring_);
  } else {
    io_uring_cqe* cqe;
    io_uring_peek_cqe(&ring_, &cqe);  // enters the kernel only where it has something to carry out
  }
  reap();
  return completions_.size();
}

void UringIo::dispatch() {
  for (size_t i = 0; i < completions_.size(); ++i) {  // it may grow meanwhile
    const Completion completion = completions_[i];
    switch (completion.token.op) {
      case Op::kWatch:
        on_watch(completion);
        break;
      case Op::kReceive:
        on_receive(completion);
        break;
      case Op::kReadable:
        on_readable(completion);
        break;
      case Op::kWritable:
        on_writable(completion);
        break;
      case Op::kIgnored:
      case Op::kSend:
        break;
    }
  }
  completions_.clear();
  buffers_.publish();
}

// ---- Watches: one-shot polls that are armed again after their handler, so that what it left is told of again; with
// EPOLLET multishot polls, which tell of each edge.

bool UringIo::add(int fd, uint32_t events, FdHandler* handler) {
  const uint32_t slot = take_slot();
  slots_[slot].watch = {fd, events, handler};
  watches_[fd] = slot;
  if (events == 0 || arm_watch(slot)) return true;
  errno = ENOBUFS;
  return false;
}

bool UringIo::modify(int fd, uint32_t events, FdHandler* handler) {
  remove(fd);
  return add(fd, events, handler);
}

void UringIo::remove(int fd) {
  auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  const uint32_t slot = found->second;
  if (slots_[slot].watch.events != 0) cancel(token(Op::kWatch, slot));
  watches_.erase(found);
  free_slot(slot);
}

bool UringIo::arm_watch(uint32_t slot) {
  const Watch& watch = slots_[slot].watch;
  io_uring_sqe* sqe = request();
  if (!sqe) return false;
  const auto mask = static_cast<unsigned>(watch.events & ~static_cast<uint32_t>(EPOLLET));
  if (watch.events & EPOLLET) {
    io_uring_prep_poll_multishot(sqe, watch.fd, mask);
  } else {
    io_uring_prep_poll_add(sqe, watch.fd, mask);
  }
  sqe->user_data = token(Op::kWatch, slot).bits();
  return true;
}

void UringIo::on_watch(const Completion& completion) {
  Slot* slot = slot_of(completion.token);
  if (!slot || !slot->watch.handler) return;
  if (completion.result > 0) slot->watch.handler->on_ready(static_cast<uint32_t>(completion.result));
  slot = slot_of(completion.token);  // the handler may have removed it
  if (slot && (completion.flags & IORING_CQE_F_MORE) == 0) arm_watch(completion.token.slot);
}

// Ends a request; its completion is not waited for.
void UringIo::cancel(Token target) {
  io_uring_sqe* sqe = request();
  if (!sqe) return;
  io_uring_prep_cancel64(sqe, target.bits(), 0);
  sqe->user_data = kIgnored;
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

// ---- Streams.

std::unique_ptr<ByteStream> UringIo::open_stream(UniqueFd socket, StreamHandler& handler) {
  set_stream_options(socket.get());
  for (auto* writes : {&writes_, &writes_in_hand_}) heap::reserve(*writes, slots_.size() + 1);  // one of each stream
  const uint32_t slot = take_slot();
  std::unique_ptr<UringStream> stream(new (std::nothrow) UringStream(*this, std::move(socket), handler));
  if (!stream) {
    free_slot(slot);
    throw std::bad_alloc();
  }
  stream->slot_ = slot;
  slots_[stream->slot_].stream = stream.get();
  if (stream->slot_ < registered_files_) {
    const int fd = stream->fd_.get();
    stream->registered_ = io_uring_register_files_update(&ring_, stream->slot_, &fd, 1) == 1;
  }
  if (arm_receive(*stream)) return stream;
  errno = ENOBUFS;
  return nullptr;
}

void UringIo::address(io_uring_sqe* sqe, const UringStream& stream) {
  if (!stream.registered_) return;
  sqe->fd = static_cast<int>(stream.slot_);
  sqe->flags |= IOSQE_FIXED_FILE;
}

bool UringIo::arm_receive(UringStream& stream) {
  io_uring_sqe* sqe = request();
  if (!sqe) return false;
  stream.reading_ = true;
  io_uring_prep_recv_multishot(sqe, stream.fd_.get(), nullptr, 0, 0);
  sqe->user_data = token(Op::kReceive, stream.slot_).bits();
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = UringBuffers::kGroup;
  address(sqe, stream);
  return true;
}

void UringIo::on_receive(const Completion& completion) {
  Slot* slot = slot_of(completion.token);
  UringStream* stream = slot ? slot->stream : nullptr;
  if (completion.flags & IORING_CQE_F_BUFFER) {
    const auto size = static_cast<size_t>(std::max(completion.result, 0));
    const std::span<const char> bytes = buffers_.take(completion.flags, size);
    if (stream && size > 0) stream->handler_.on_bytes(bytes.data(), size);
    buffers_.release(completion.flags);
  }
  slot = slot_of(completion.token);  // the handler may have closed it
  if (!slot || !slot->stream) return;
  stream = slot->stream;
  const bool armed = (completion.flags & IORING_CQE_F_MORE) != 0;
  stream->reading_ = armed;
  const int32_t result = completion.result;
  const bool again = result == -ENOBUFS || result == -EINTR || result == -EAGAIN || result == -ECANCELED;
  if (result <= 0 && !again) return stream->handler_.on_end(-result);
  if (!armed) return receive_next(*stream);
  if (!stream->placing_ && !stream->paused_ && stream->handler_.place().size() >= kSmallestPlace) {
    stream->placing_ = true;  // goes on when the receive has ended
    cancel(token(Op::kReceive, stream->slot_));
  }
}

// Waits for the next bytes. Changing between the two ways costs more than a receive or two in the wrong one.
void UringIo::receive_next(UringStream& stream) {
  constexpr int kPatience = 8;
  stream.paused_ = stream.paused_ || !stream.handler_.may_read();
  if (stream.paused_) return;
  if (stream.handler_.place().size() >= kSmallestPlace) stream.patience_ = kPatience;
  stream.placing_ = stream.patience_ > 0;
  if (stream.placing_) --stream.patience_;
  const bool armed = stream.placing_ ? arm_poll(stream, Op::kReadable) : arm_receive(stream);
  if (!armed) stream.handler_.on_end(ENOBUFS);
}

void UringIo::on_readable(const Completion& completion) {
  Slot* slot = slot_of(completion.token);
  if (!slot || !slot->stream) return;
  UringStream* stream = slot->stream;
  stream->reading_ = false;
  stream->paused_ = stream->paused_ || !stream->handler_.may_read();
  if (stream->paused_) return;
  if (read(*stream, SIZE_MAX) != Got::kEnd && slot_of(completion.token)) receive_next(*stream);
}

// What the socket has now: what has a place, and up to `most` bytes that have none.
UringIo::Got UringIo::read(UringStream& stream, size_t most) {
  StreamHandler& handler = stream.handler_;
  const std::span<char> spare = buffers_.spare();
  const Received got = receive_into_place(stream.fd_.get(), handler.place(), spare.first(std::min(most, spare.size())));
  if (got.result < 0 && errno == EAGAIN) return Got::kNothing;
  if (got.result <= 0) {
    handler.on_end(got.result < 0 ? errno : 0);
    return Got::kEnd;
  }
  if (!got.place.empty()) handler.on_bytes(got.place.data(), got.place.size());
  // Its handler may have closed it.
  if (stream.fd_ && !got.rest.empty()) handler.on_bytes(got.rest.data(), got.rest.size());
  return Got::kBytes;
}

// A multishot receive would go on to fill buffers that others need; what it has taken already still comes.
void UringIo::pause(UringStream& stream) {
  if (stream.paused_) return;
  stream.paused_ = true;
  if (stream.reading_ && !stream.placing_) cancel(token(Op::kReceive, stream.slot_));
}

void UringIo::resume(UringStream& stream) {
  if (!stream.paused_) return;
  stream.paused_ = false;
  if (!stream.reading_) receive_next(stream);  // else the end of what is under way does
}

// A poll that tells once.
bool UringIo::arm_poll(UringStream& stream, Op op) {
  io_uring_sqe* sqe = request();
  if (!sqe) return false;
  if (op == Op::kReadable) stream.reading_ = true;
  io_uring_prep_poll_add(sqe, stream.fd_.get(), op == Op::kReadable ? POLLIN : POLLOUT);
  sqe->user_data = token(op, stream.slot_).bits();
  address(sqe, stream);
  return true;
}

void UringIo::on_writable(const Completion& completion) {
  Slot* slot = slot_of(completion.token);
  if (!slot || !slot->stream) return;
  slot->stream->writable_wanted_ = false;
  slot->stream->handler_.on_writable();
}

// MSG_WAITALL: a send that falls short is a failure, and posts a completion although successes do not.
void UringIo::queue_write(UringStream& stream, const iovec* parts, size_t count) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_WAITALL;
  count = std::min<size_t>(count, IOV_MAX);
  stream.queued_bytes_ = 0;
  for (size_t i = 0; i < count; ++i) stream.queued_bytes_ += parts[i].iov_len;
  stream.result_ = static_cast<ssize_t>(stream.queued_bytes_);
  io_uring_sqe* sqe = request();
  const unsigned position = ring_.sq.sqe_tail - 1;
  if (sqe) {
    if (count == 1) {
      io_uring_prep_send(sqe, stream.fd_.get(), parts[0].iov_base, parts[0].iov_len, kFlags);
    } else {
      stream.message_ = {};
      stream.message_.msg_iov = const_cast<iovec*>(parts);
      stream.message_.msg_iovlen = count;
      io_uring_prep_sendmsg(sqe, stream.fd_.get(), &stream.message_, kFlags);
    }
    sqe->user_data = token(Op::kSend, stream.slot_).bits();
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    address(sqe, stream);
  } else {
    stream.result_ = -ENOBUFS;
  }
  writes_.push_back({&stream, sqe, position});
}

// The kernel does not take requests: what is queued would be carried out after its memory is gone. They become empty
// requests, and their streams break.
void UringIo::withdraw_unsubmitted() {
  const unsigned head = *ring_.sq.khead;
  for (QueuedWrite& write : writes_) {
    if (!write.request || static_cast<int>(head - write.position) > 0) continue;
    io_uring_prep_nop(write.request);
    write.request->user_data = kIgnored;
    if (write.stream) write.stream->result_ = -ENOBUFS;
  }
}

void UringIo::submit() {
  if (writes_.empty()) return;
  enter();
  if (io_uring_sq_ready(&ring_) > 0) withdraw_unsubmitted();
  reap();
  writes_in_hand_.swap(writes_);
  for (size_t i = 0; i < writes_in_hand_.size(); ++i) {
    UringStream* stream = writes_in_hand_[i].stream;
    if (stream) stream->handler_.on_written(stream->result_);
  }
  writes_in_hand_.clear();
}

void UringIo::close_stream(UringStream& stream) {
  auto forget = [&](std::vector<QueuedWrite>& writes) {
    for (QueuedWrite& write : writes) {
      if (write.stream == &stream) write.stream = nullptr;
    }
  };
  const bool queued = std::any_of(writes_.begin(), writes_.end(), [&](auto& write) { return write.stream == &stream; });
  forget(writes_);
  forget(writes_in_hand_);
  cancel(token(Op::kReceive, stream.slot_));
  if (stream.placing_) cancel(token(Op::kReadable, stream.slot_));
  if (stream.writable_wanted_) cancel(token(Op::kWritable, stream.slot_));
  enter();                      // queued bytes are the kernel's
  io_uring_get_events(&ring_);  // the receive lets go of the socket
  if (queued && io_uring_sq_ready(&ring_) > 0) withdraw_unsubmitted();
  if (stream.registered_) {
    const int none = -1;
    io_uring_register_files_update(&ring_, stream.slot_, &none, 1);
  }
  free_slot(stream.slot_);
}

}  // namespace

std::unique_ptr<Io> make_uring_io(std::string* why) {
  auto io = std::make_unique<UringIo>();
  *why = io->open();
  if (!why->empty()) return nullptr;
  return io;
}

}  // namespace drover::engine
