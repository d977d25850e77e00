// The buffers that the multishot receives of an io_uring fill: one ring of them, shared by all streams of a thread.
//
// Incremental where the kernel can (Linux 6.12): a receive takes only as much of a buffer as it fills, so that small
// ones stay in a few cache lines. Else each receive takes a buffer. Thread-safety: none.
#pragma once

#include <liburing.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace drover::engine {

class UringBuffers {
 public:
  static constexpr int kGroup = 0;  // for io_uring_sqe::buf_group

  UringBuffers() = default;
  ~UringBuffers();  // the ring must be closed
  UringBuffers(const UringBuffers&) = delete;
  UringBuffers& operator=(const UringBuffers&) = delete;

  // An empty string, or what is missing.
  std::string open(io_uring& ring);

  // The bytes that a receive has filled, by its completion's flags (which have IORING_CQE_F_BUFFER). Completions must
  // come in the kernel's order. Valid until release().
  std::span<const char> take(uint32_t flags, size_t size);
  // They are used: their buffer goes back once all of it is.
  void release(uint32_t flags);
  // Shows the kernel the buffers that went back.
  void publish();

  // A buffer that no receive fills, of the same size.
  std::span<char> spare();

 private:
  static constexpr unsigned kBuffers = 32;            // a power of two
  static constexpr unsigned kIncrementalBuffers = 4;  // where receives share a buffer one after the other
  static constexpr size_t kBufferBytes = 256 << 10;

  int use(io_uring& ring, unsigned count, uint16_t flags);
  void give_back(uint32_t id);
  char* buffer(uint32_t id) { return buffers_ + id * kBufferBytes; }

  char* memory_ = nullptr;  // the ring, then the buffers, then the spare one
  io_uring_buf_ring* ring_ = nullptr;
  char* buffers_ = nullptr;
  unsigned count_ = 0;
  bool incremental_ = false;
  std::array<size_t, kBuffers> used_{};  // where the next receive into a buffer begins
  int returned_ = 0;                     // not yet published
};

}  // namespace drover::engine
