// The ring of UringIo, and its watches of descriptors; see uring_io.h.
#include "engine/net/uring_io.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "engine/base/heap.h"

namespace drover::engine {

namespace {

constexpr unsigned kSubmissions = 512;
constexpr unsigned kCompletions = 8192;
constexpr unsigned kMaxRegisteredFiles = 65'536;
constexpr int kSubmitTries = 100;
constexpr int kRounds = 64;

}  // namespace

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
  return uring::restrict_requests(ring_);
}

std::string uring::restrict_requests(io_uring& ring) {
  std::vector<io_uring_restriction> allowed;
  for (uint8_t op :
       {IORING_OP_NOP, IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL, IORING_OP_RECV, IORING_OP_SEND, IORING_OP_SENDMSG}) {
    io_uring_restriction& one = allowed.emplace_back();
    one = {};
    one.opcode = IORING_RESTRICTION_SQE_OP;
    one.sqe_op = op;
  }
  for (uint8_t op : {IORING_REGISTER_ENABLE_RINGS, IORING_REGISTER_RING_FDS, IORING_UNREGISTER_RING_FDS,
                     IORING_REGISTER_FILES_UPDATE}) {
    io_uring_restriction& one = allowed.emplace_back();
    one = {};
    one.opcode = IORING_RESTRICTION_REGISTER_OP;
    one.register_op = op;
  }
  io_uring_restriction& flags = allowed.emplace_back();
  flags = {};
  flags.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
  flags.sqe_flags = IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS;
  const int error = io_uring_register_restrictions(&ring, allowed.data(), static_cast<unsigned>(allowed.size()));
  return error == 0 ? "" : std::string("io_uring_register (restrictions): ") + std::strerror(-error);
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
      cqe->user_data = uring::kIgnored;  // noted, should it stay
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
  // The kernel carries out 20 receives at a time, in order (Linux 6.13 and later): those of idle connections must not
  // stand behind those of busy ones for many turns. Once the buffers are full, the rest is quick.
  for (int i = 0; i < kRounds && (IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_TASKRUN) != 0; ++i) {
    io_uring_get_events(&ring_);
    reap();
  }
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
  const uring::Watch& watch = slots_[slot].watch;
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
  sqe->user_data = uring::kIgnored;
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

std::unique_ptr<Io> make_uring_io(std::string* why) {
  auto io = std::make_unique<UringIo>();
  *why = io->open();
  if (!why->empty()) return nullptr;
  return io;
}

}  // namespace drover::engine
