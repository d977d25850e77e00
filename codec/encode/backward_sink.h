// BackwardSink: the encoder's sink in the buffers of an Encoded, which grow on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "codec/compiler.h"
#include "codec/encode/encoded.h"

namespace drover {

class BackwardSink {
 public:
  static constexpr bool kWrites = true;
  // A scalar and its tag fit wherever p is not below low(); so do whole vectors that reach below what they write.
  static constexpr size_t kScalarRoom = 32;
  static constexpr uint32_t kVarintsAtOnce = 64;  // of a packed field, after asking for room once

  BackwardSink(Encoded* out, const EncodeOptions& options) : out_(out), options_(options) {
    next_piece_ = out_->pieces_end();
    used_ = 0;
    if (!out_->blocks_.empty()) [[likely]] {
      take_block(0, 0);
    } else {
      low_ = segment_end_ = nullptr;
      base_ = 0;
    }
  }
  // Null: out of memory.
  char* start() { return segment_end_ != nullptr ? segment_end_ : next_block(nullptr, kScalarRoom); }

  // Bytes written so far, with the position at p.
  size_t total(const char* p) const { return base_ - reinterpret_cast<uintptr_t>(p); }
  // The position from which n bytes can be written downwards; null after an error.
  char* room(char* p, size_t n) {
    if (has_room(p, n)) [[likely]]
      return p;
    return next_block(p, n);
  }
  // kScalarRoom more bytes than n count as room, so that vectors may reach below what is written.
  bool has_room(const char* p, size_t n) const { return p - low_ >= static_cast<ptrdiff_t>(n); }
  const char* low() const { return low_; }
  bool refers(size_t size) const { return size >= options_.reference_threshold; }
  char* refer(char* p, const char* data, size_t size) {
    if (!close_segment(p) || !add_piece(data, size)) return nullptr;
    if (++references_ % kReferencesBetweenPauses == 0 && !may_go_on()) return nullptr;
    base_ += size;
    if (total(p) > options_.max_bytes) return fail(EncodeError::kTooLarge);
    return p;
  }
  EncodeError error() const { return error_; }
  void abandon() { out_->set_pieces(out_->pieces_end(), 0); }

  // The pieces are done; false: too large, or no memory.
  bool finish(char* p) {
    if (!close_segment(p)) return false;
    size_t size = total(p);
    if (size > options_.max_bytes) return fail(EncodeError::kTooLarge), false;
    out_->set_pieces(next_piece_, size);
    return true;
  }

 private:
  static constexpr size_t kFirstBlock = 4096, kLargestBlock = 256 * 1024;
  static constexpr uint32_t kReferencesBetweenPauses = 256;

  bool may_go_on() {
    if (options_.pause == nullptr || options_.pause(options_.pause_context)) [[likely]]
      return true;
    return fail(EncodeError::kTooMuchWork), false;
  }

  char* fail(EncodeError error) {
    error_ = error;
    return nullptr;
  }
  DROVER_INLINE bool close_segment(char* p) {
    if (segment_end_ == p) return true;
    size_t size = static_cast<size_t>(segment_end_ - p);
    segment_end_ = p;
    return add_piece(p, size);
  }
  // In front of those that are there already. False after fail().
  DROVER_INLINE bool add_piece(const char* data, size_t size) {
    if (next_piece_ == out_->pieces_begin()) [[unlikely]] {
      EncodeError error = out_->more_pieces(&next_piece_, options_.max_buffer_bytes);
      if (error != EncodeError::kOk) return fail(error), false;
    }
    *--next_piece_ = {data, size};
    return true;
  }
  // Goes on in a block, `total` bytes having been written before.
  DROVER_INLINE void take_block(size_t index, size_t total) {
    low_ = out_->blocks_[index].bytes.get() + kScalarRoom;
    segment_end_ = low_ - kScalarRoom + out_->blocks_[index].size;
    base_ = reinterpret_cast<uintptr_t>(segment_end_) + total;
    used_ = index + 1;
  }
  DROVER_NOINLINE char* next_block(char* p, size_t n) {
    size_t written = total(p);
    if (!close_segment(p)) return nullptr;
    if (written > options_.max_bytes) return fail(EncodeError::kTooLarge);
    if (!may_go_on()) return nullptr;
    auto& blocks = out_->blocks_;
    size_t index = used_;
    n += kScalarRoom;
    while (index < blocks.size() && blocks[index].size < n) ++index;
    if (index == blocks.size()) {
      size_t size = blocks.empty() ? kFirstBlock : blocks.back().size * 2;
      if (size > kLargestBlock) size = kLargestBlock;
      if (size < n) size = n;
      if (size > options_.max_buffer_bytes || out_->buffer_bytes_ > options_.max_buffer_bytes - size) {
        return fail(EncodeError::kNoRoom);
      }
      std::unique_ptr<char[]> fresh(new (std::nothrow) char[size]);
      if (fresh == nullptr) return fail(EncodeError::kOutOfMemory);
      blocks.push_back({std::move(fresh), size});
      out_->buffer_bytes_ += size;
    }
    take_block(index, written);
    return segment_end_;
  }

  Encoded* out_;
  const EncodeOptions& options_;
  Piece* next_piece_;  // the first of those that are done
  char* low_;          // the block at hand begins kScalarRoom below
  char* segment_end_;  // end of the bytes that are written but not yet a piece
  uintptr_t base_;     // what total() counts down from: segment_end_, and the bytes of the pieces that are done
  size_t used_;        // blocks taken so far
  uint32_t references_ = 0;
  EncodeError error_;  // set where a function fails
};

}  // namespace drover
