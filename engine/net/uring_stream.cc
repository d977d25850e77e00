// Streams on an io_uring; see uring_io.h.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>

#include "engine/base/heap.h"
#include "engine/net/uring_io.h"

namespace drover::engine {

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

// ---- Opening, and receives.

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
  if (!armed) return receive_next(*stream, result == -ENOBUFS);
  if (!stream->placing_ && !stream->paused_ && stream->handler_.place().size() >= kSmallestPlace) {
    stream->placing_ = true;  // goes on when the receive has ended
    cancel(token(Op::kReceive, stream->slot_));
  }
}

// Waits for the next bytes. Changing between the two ways costs more than a receive or two in the wrong one.
void UringIo::receive_next(UringStream& stream, bool starved) {
  constexpr int kPatience = 8;
  stream.paused_ = stream.paused_ || !stream.handler_.may_read(starved);
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
  stream->paused_ = stream->paused_ || !stream->handler_.may_read(false);
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

// Its next bytes are only told of: the handler that paused may have no time for them then either.
void UringIo::resume(UringStream& stream) {
  if (!stream.paused_) return;
  stream.paused_ = false;
  if (stream.reading_) return;  // the end of what is under way goes on
  stream.placing_ = true;
  stream.patience_ = 0;
  if (!arm_poll(stream, Op::kReadable)) stream.handler_.on_end(ENOBUFS);
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
    write.request->user_data = uring::kIgnored;
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

}  // namespace drover::engine
