// What connections hand to the kernel: frames gathered into one write a connection, its segment.
//
// SendBatch is scratch memory of the thread, filled and sent within one turn: small bytes are copied into one buffer
// that stays in cache, large bodies are only referred to. Where writes are queued (io_uring), the segments of several
// connections stand in it at a time. What the kernel does not take at once is kept by the connection in an UnsentQueue
// (copied bytes in memory of its own, large bodies still by reference).
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "engine/net/byte_stream.h"

namespace drover::engine {

class SendBatch {
 public:
  static constexpr size_t kBuffer = 256 << 10;
  static constexpr size_t kMaxBytes = 1 << 20;  // of one segment, large bodies included
  static constexpr size_t kMaxParts = 1000;     // under IOV_MAX
  static constexpr size_t kReserve = 72 << 10;  // room kept for one more turn of a stream, in bytes
  static constexpr size_t kReserveParts = 80;   // and in parts
  static constexpr size_t kCopyBelow = 2048;    // smaller bodies are copied: one iovec less, contiguous for the kernel

  SendBatch();

  void clear();
  // Begins the next segment.
  void begin();
  // Forgets the segment that was begun last.
  void drop();
  void append_copy(const void* bytes, size_t size) {
    if (!extendable_ || size > kBuffer - used_) return append_part(bytes, size);
    std::memcpy(buffer_.get() + used_, bytes, size);
    used_ += size;
    bytes_ += size;
    parts_.back().iov_len += size;
  }
  // `bytes` must stay until the connection says that they were sent.
  void append_reference(const void* bytes, size_t size);
  bool has_room() const {
    return used_ + kReserve <= kBuffer && bytes_ < kMaxBytes && parts_.size() + kReserveParts < kMaxParts;
  }
  // Of the segment. Its parts stay where they are until clear() or drop().
  size_t bytes() const { return bytes_; }
  std::span<const iovec> parts() const { return std::span(parts_).subspan(first_part_); }
  bool is_copied(const iovec& part) const;

 private:
  void append_part(const void* bytes, size_t size);

  const std::unique_ptr<char[]> buffer_;
  bool extendable_ = false;  // the last part ends at buffer_ + used_
  size_t used_ = 0;
  size_t bytes_ = 0;       // of the segment
  size_t first_used_ = 0;  // where the segment begins
  size_t first_part_ = 0;
  std::vector<iovec> parts_;
  std::vector<std::unique_ptr<char[]>> oversized_;  // frames beyond kReserve: header blocks with huge metadata
  std::vector<size_t> oversized_parts_;
};

class UnsentQueue {
 public:
  bool empty() const { return first_ == parts_.size(); }
  size_t bytes() const { return bytes_; }
  // Heap bytes.
  size_t memory() const { return copied_bytes_ + parts_.capacity() * sizeof(iovec); }
  // Takes what is left of a segment of `batch` after its first `sent` bytes. The queue must be empty.
  void take(const SendBatch& batch, std::span<const iovec> segment, size_t sent);
  std::span<const iovec> parts() const { return std::span(parts_).subspan(first_); }
  // The first `sent` bytes are the kernel's.
  void remove(size_t sent);

 private:
  std::vector<iovec> parts_;
  size_t first_ = 0;
  size_t bytes_ = 0;
  std::unique_ptr<char[]> copied_;
  size_t copied_bytes_ = 0;
};

}  // namespace drover::engine
