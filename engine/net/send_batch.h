// What one connection hands to the kernel: frames gathered into one sendmsg.
//
// SendBatch is scratch memory of the thread, filled and sent within one turn: small bytes are copied into one buffer
// that stays in cache, large bodies are only referred to. What the kernel does not take at once is kept by the
// connection in an UnsentQueue (copied bytes in memory of its own, large bodies still by reference).
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/net/byte_stream.h"

namespace drover::engine {

class SendBatch {
 public:
  static constexpr size_t kBuffer = 256 << 10;
  static constexpr size_t kMaxBytes = 1 << 20;  // of one batch, large bodies included
  static constexpr size_t kMaxParts = 1000;     // under IOV_MAX
  static constexpr size_t kReserve = 72 << 10;  // room kept for one more turn of a stream, in bytes
  static constexpr size_t kReserveParts = 80;   // and in parts
  static constexpr size_t kCopyBelow = 2048;    // smaller bodies are copied: one iovec less, contiguous for the kernel

  SendBatch();

  void clear();
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
  size_t bytes() const { return bytes_; }
  const std::vector<iovec>& parts() const { return parts_; }
  bool is_copied(const iovec& part) const;

 private:
  void append_part(const void* bytes, size_t size);

  const std::unique_ptr<char[]> buffer_;
  bool extendable_ = false;  // the last part ends at buffer_ + used_
  size_t used_ = 0;
  size_t bytes_ = 0;
  std::vector<iovec> parts_;
  std::vector<std::unique_ptr<char[]>> oversized_;  // frames beyond kReserve: header blocks with huge metadata
  std::vector<size_t> oversized_parts_;
};

class UnsentQueue {
 public:
  bool empty() const { return first_ == parts_.size(); }
  size_t bytes() const { return bytes_; }
  // Takes what is left of `batch` after its first `sent` bytes. The queue must be empty.
  void take(const SendBatch& batch, size_t sent);
  // Writes as much as the sink takes. The number of bytes, or -1 with errno (EAGAIN: none).
  ssize_t write_to(ByteSink& sink);

 private:
  std::vector<iovec> parts_;
  size_t first_ = 0;
  size_t bytes_ = 0;
  std::unique_ptr<char[]> copied_;
};

}  // namespace drover::engine
