// FixedSink: the encoder's sink in memory of the caller's, from its end downwards; nothing is allocated. Freestanding.
//
//   buffer:  [ room | written <- ]        pieces:  [ room | first .. last ]
//
// Long strings and arrays are referred to while pieces are left, and copied after that: running out of pieces is no
// error. Running out of buffer is EncodeError::kNoRoom.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/encode/encode_types.h"

namespace drover {

struct FixedPiece {
  uint64_t address;  // in the buffer, or, if `referred`, where the object's bytes lie
  size_t size;
  bool referred;
};

// Where an encode may write, and what it has written.
struct FixedOutput {
  // kSpare bytes more than the message always suffice: the encoder asks for room for the largest varint and tag,
  // even if it writes less.
  char* buffer = nullptr;
  size_t buffer_size = 0;
  // With fewer than three nothing is referred to: the message ends where the buffer does, in one piece.
  FixedPiece* pieces = nullptr;
  size_t piece_capacity = 0;

  static constexpr size_t kSpare = 64;

  // Set by the encode; without error: the message is these pieces, one behind the other.
  const char* begin = nullptr;  // the first byte in the buffer
  FixedPiece* first_piece = nullptr;
  size_t piece_count = 0;
};

class FixedSink {
 public:
  static constexpr bool kWrites = true;
  static constexpr size_t kScalarRoom = 32;
  static constexpr uint32_t kVarintsAtOnce = 1;
  static_assert(FixedOutput::kSpare >= 2 * kScalarRoom);

  FixedSink(FixedOutput* out, const EncodeOptions& options)
      : out_(out),
        options_(options),
        next_piece_(out->pieces + out->piece_capacity),
        low_(out->buffer + (out->buffer_size < kScalarRoom ? out->buffer_size : kScalarRoom)),
        segment_end_(out->buffer + out->buffer_size) {
    out->first_piece = next_piece_;
    out->piece_count = 0;
  }
  char* start() {
    if (out_->buffer_size >= kScalarRoom) return segment_end_;
    return fail(EncodeError::kNoRoom);
  }

  size_t total(const char* p) const { return closed_ + static_cast<size_t>(segment_end_ - p); }
  char* room(char* p, size_t n) { return has_room(p, n) ? p : fail(EncodeError::kNoRoom); }
  bool has_room(const char* p, size_t n) const { return p >= low_ && static_cast<size_t>(p - low_) >= n; }
  const char* low() const { return low_; }
  // Three pieces: what was written before, the reference, and what is written behind it.
  bool refers(size_t size) const { return size >= options_.reference_threshold && next_piece_ - out_->pieces >= 3; }
  char* refer(char* p, const char* data, size_t size) {
    close_segment(p);
    add_piece(data, size, true);
    if (total(p) < size || total(p) > options_.max_bytes) return fail(EncodeError::kTooLarge);
    return p;
  }
  EncodeError error() const { return error_; }

  // The pieces are done; false: too large.
  bool finish(char* p) {
    size_t size = total(p);
    if (size > options_.max_bytes) return fail(EncodeError::kTooLarge), false;
    out_->begin = p;
    if (out_->piece_capacity != 0) close_segment(p);
    out_->first_piece = next_piece_;
    out_->piece_count = static_cast<size_t>(out_->pieces + out_->piece_capacity - next_piece_);
    return true;
  }

 private:
  char* fail(EncodeError error) {
    error_ = error;
    return nullptr;
  }
  void close_segment(char* p) {
    if (segment_end_ == p) return;
    add_piece(p, static_cast<size_t>(segment_end_ - p), false);
    segment_end_ = p;
  }
  void add_piece(const char* data, size_t size, bool referred) {
    *--next_piece_ = {reinterpret_cast<uintptr_t>(data), size, referred};
    closed_ += size;
  }

  FixedOutput* out_;
  const EncodeOptions& options_;
  FixedPiece* next_piece_;
  char* low_;
  char* segment_end_;
  size_t closed_ = 0;  // bytes of the pieces that are done
  EncodeError error_ = EncodeError::kOk;
};

}  // namespace drover
