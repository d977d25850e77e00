// Where the encoder writes, from the last byte to the first. The position is a pointer that the encoder keeps in a
// register and hands from function to function; a sink only gives it room: BackwardSink in the buffers of an Encoded,
// CountingSink nowhere at all (it never runs out, and nothing is written).
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include "codec/encode.h"
#include "codec/wire.h"

namespace drover {

class BackwardSink {
 public:
  static constexpr bool kWrites = true;

  BackwardSink(Encoded* out, size_t max_bytes, size_t reference_threshold)
      : out_(out), max_bytes_(max_bytes), threshold_(reference_threshold) {
    out_->pieces_.clear();
    out_->size_ = 0;
    if (!out_->blocks_.empty()) take_block(0);
  }
  char* start() { return segment_end_; }

  // Bytes written so far, with the position at p.
  size_t total(const char* p) const { return closed_ + static_cast<size_t>(segment_end_ - p); }
  // The position from which n bytes can be written downwards; null after an error.
  char* room(char* p, size_t n) {
    if (static_cast<size_t>(p - begin_) >= n) [[likely]]
      return p;
    return next_block(p, n);
  }
  bool refers(size_t size) const { return size >= threshold_; }
  char* refer(char* p, const char* data, size_t size) {
    close_segment(p);
    closed_ += size;
    out_->pieces_.push_back({data, size});
    if (closed_ > max_bytes_) return fail(EncodeError::too_large);
    return p;
  }
  EncodeError error() const { return error_; }
  void abandon() { out_->pieces_.clear(); }

  // Puts the pieces in order; false: too large.
  bool finish(char* p) {
    close_segment(p);
    if (closed_ > max_bytes_) return false;
    std::reverse(out_->pieces_.begin(), out_->pieces_.end());
    out_->size_ = closed_;
    return true;
  }

 private:
  static constexpr size_t kFirstBlock = 4096, kLargestBlock = 256 * 1024;

  char* fail(EncodeError error) {
    error_ = error;
    return nullptr;
  }
  void close_segment(char* p) {
    if (segment_end_ == p) return;
    size_t size = static_cast<size_t>(segment_end_ - p);
    out_->pieces_.push_back({p, size});
    closed_ += size;
    segment_end_ = p;
  }
  void take_block(size_t index) {
    begin_ = out_->blocks_[index].bytes.get();
    segment_end_ = begin_ + out_->blocks_[index].size;
    used_ = index + 1;
  }
  __attribute__((noinline)) char* next_block(char* p, size_t n) {
    close_segment(p);
    if (closed_ > max_bytes_) return fail(EncodeError::too_large);
    auto& blocks = out_->blocks_;
    size_t index = used_;
    while (index < blocks.size() && blocks[index].size < n) ++index;
    if (index == blocks.size()) {
      size_t size = blocks.empty() ? kFirstBlock : std::min(blocks.back().size * 2, kLargestBlock);
      size = std::max(size, n);
      std::unique_ptr<char[]> fresh(new (std::nothrow) char[size]);
      if (fresh == nullptr) return fail(EncodeError::out_of_memory);
      blocks.push_back({std::move(fresh), size});
    }
    take_block(index);
    return segment_end_;
  }

  Encoded* out_;
  size_t max_bytes_;
  size_t threshold_;
  char* begin_ = nullptr;
  char* segment_end_ = nullptr;
  size_t closed_ = 0;  // bytes of the pieces that are done
  size_t used_ = 0;    // blocks taken so far
  EncodeError error_ = EncodeError::too_large;
};

class CountingSink {
 public:
  static constexpr bool kWrites = false;

  // A position that is never written to, with room for all that a message may hold in front of it.
  char* start() { return reinterpret_cast<char*>(kTop); }
  size_t total(const char* p) const { return kTop - reinterpret_cast<uintptr_t>(p); }
  char* room(char* p, size_t) { return p; }
  bool refers(size_t) const { return false; }
  char* refer(char* p, const char*, size_t size) { return p - size; }
  EncodeError error() const { return EncodeError::ok; }

 private:
  static constexpr uintptr_t kTop = UINTPTR_MAX / 2 + 1;
};

// ---- writing downwards from p; the caller has asked for room

template <typename Sink>
inline char* put_bytes(char* p, const void* data, size_t size) {
  p -= size;
  if constexpr (Sink::kWrites) std::memcpy(p, data, size);
  return p;
}

// Three bytes or more.
template <typename Sink>
inline char* put_varint_long(char* p, uint64_t value) {
  p -= wire::varint_size(value);
  if constexpr (Sink::kWrites) wire::write_varint(p, value);
  return p;
}

template <typename Sink>
inline __attribute__((always_inline)) char* put_varint(char* p, uint64_t value) {
  if (value < 0x80) {
    --p;
    if constexpr (Sink::kWrites) *p = static_cast<char>(value);
    return p;
  }
  if (value < 0x4000) {
    p -= 2;
    if constexpr (Sink::kWrites) {
      uint16_t both = static_cast<uint16_t>((value & 0x7f) | 0x80 | (value >> 7) << 8);
      std::memcpy(p, &both, 2);
    }
    return p;
  }
  return put_varint_long<Sink>(p, value);
}

}  // namespace drover
