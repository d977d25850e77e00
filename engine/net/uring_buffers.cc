#include "engine/net/uring_buffers.h"

#include <sys/mman.h>

#include <cstring>

namespace drover::engine {

namespace {

// Linux 6.12's, which liburing 2.3 does not name: IOU_PBUF_RING_INC and IORING_CQE_F_BUF_MORE.
constexpr uint16_t kRingIncremental = 2;
constexpr uint32_t kBufferGoesOn = 1u << 4;

constexpr size_t kRingAlign = 4096;

uint32_t id_of(uint32_t flags) { return flags >> IORING_CQE_BUFFER_SHIFT; }

}  // namespace

std::string UringBuffers::open(io_uring& ring) {
  constexpr size_t kBytes = kRingAlign + (kBuffers + 1) * kBufferBytes;
  static_assert(kBuffers * sizeof(io_uring_buf) <= kRingAlign);
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "no memory for receive buffers";
  memory_ = static_cast<char*>(memory);
  ring_ = reinterpret_cast<io_uring_buf_ring*>(memory_);
  buffers_ = memory_ + kRingAlign;
  int error = use(ring, kIncrementalBuffers, kRingIncremental);
  incremental_ = error == 0;
  if (!incremental_) error = use(ring, kBuffers, 0);
  if (error < 0) return std::string("io_uring_register (buffer ring): ") + std::strerror(-error);
  io_uring_buf_ring_init(ring_);
  for (unsigned i = 0; i < count_; ++i) give_back(i);
  publish();
  return {};
}

UringBuffers::~UringBuffers() {
  if (memory_) ::munmap(memory_, kRingAlign + (kBuffers + 1) * kBufferBytes);
}

int UringBuffers::use(io_uring& ring, unsigned count, uint16_t flags) {
  count_ = count;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<uintptr_t>(ring_);
  registration.ring_entries = count;
  registration.bgid = kGroup;
  registration.pad = flags;  // "flags" since Linux 6.4
  return io_uring_register_buf_ring(&ring, &registration, 0);
}

std::span<const char> UringBuffers::take(uint32_t flags, size_t size) {
  const uint32_t id = id_of(flags);
  const char* bytes = buffer(id) + used_[id];
  used_[id] += size;
  return {bytes, size};
}

void UringBuffers::release(uint32_t flags) {
  if (!incremental_ || (flags & kBufferGoesOn) == 0) give_back(id_of(flags));
}

void UringBuffers::give_back(uint32_t id) {
  used_[id] = 0;
  io_uring_buf_ring_add(ring_, buffer(id), kBufferBytes, static_cast<uint16_t>(id), io_uring_buf_ring_mask(count_),
                        returned_++);
}

void UringBuffers::publish() {
  io_uring_buf_ring_advance(ring_, returned_);
  returned_ = 0;
}

std::span<char> UringBuffers::spare() { return {buffer(kBuffers), kBufferBytes}; }

}  // namespace drover::engine
