// Input: wire bytes in one or more pieces, read through a pointer behind which 16 more bytes can always be read.
//
//   piece:  [ ............................ | last 16 ]          end_ = where the last 16 begin
//   patch:                       [ last 16 | first bytes of the next piece, or zeros ]
//
// A long input may be read in slices: end_ is then the end of a slice, and the reader lets others go on where it moves
// on to the next one. Up to reach_ a string may be read at one go.
//
//   piece:  [ .... slice .... | end_ ........ | reach_ ........ | last_ = where the last 16 begin ]
//
// A reader compares its pointer with the limit once an item (`done`), not once a byte. Near the end of a piece it
// is moved, through the same function, into a small patch buffer that holds the junction with the next piece.
// `limit_` counts from end_ to the end of the innermost message; it may be negative. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "object/pause.h"

namespace drover {

class Input {
 public:
  static constexpr ptrdiff_t kSlop = 16;
  static constexpr uint32_t kMostSlice = 1 << 27;
  static constexpr size_t kWholeInPatch = 32;  // an input up to this size is copied into the patch buffer at once

  // Begins to read `total` bytes, the sum of all pieces. `extra`: one writable byte lies behind the last piece.
  const char* start(const std::string_view* pieces, size_t count, size_t total, bool extra) {
    pieces_end_ = pieces + count;
    next_piece_ = pieces_end_;
    extra_ = extra ? 1 : 0;
    if (count == 1 && total > kWholeInPatch) [[likely]] {
      const char* begin = pieces[0].data();
      in_patch_ = false;
      piece_end_ = begin + total + extra_;
      last_ = reach_ = end_ = begin + total - kSlop;
      limit_ptr_ = end_;
      limit_ = kSlop;
      end_offset_ = static_cast<int64_t>(total) - kSlop;
      return begin;
    }
    if (count == 1) return start_in_patch(pieces[0]);
    next_piece_ = pieces;
    last_ = reach_ = end_ = patch_;
    std::memset(patch_, 0, sizeof(patch_));
    limit_ = static_cast<int64_t>(total) + kSlop;
    end_offset_ = -kSlop;
    set_limit_ptr();
    return patch_ + kSlop;  // as if 16 bytes had been read before the first piece
  }

  // After start(), which returned p: reads in slices of so many bytes.
  void pause_with(const Pause& pause, uint32_t slice, const char* p) {
    pause_ = pause;
    slice_ = slice == 0 ? 1 : slice < kMostSlice ? slice : kMostSlice;
    if (!in_patch_) shorten(p);
  }
  // Lets others go on. False: the reading is to end.
  bool go_on() {
    if (!stopped_ && !pause_()) stopped_ = true;
    return !stopped_;
  }
  bool pauses() const { return static_cast<bool>(pause_); }
  bool stopped() const { return stopped_; }
  // What is read at one go: a slice, and of a string that begins in it as much as this.
  int64_t slice() const { return slice_; }
  int64_t reach() const { return 8 * slice_; }

  // p is well inside the innermost message; false near the end of a piece too.
  bool inside(const char* p) const { return p < limit_ptr_; }
  // For a p that is not inside(): it is exactly at the end of the innermost message, which lies in this buffer.
  bool at_end(const char* p) const { return p == limit_ptr_ && limit_ <= 0; }
  // True at the end of the innermost message; *p becomes null if it lies behind that end, or if reading is stopped.
  bool done(const char** p) {
    if (*p < limit_ptr_) [[likely]]
      return false;
    const char* copy = *p;  // so that the caller's pointer can stay in a register
    bool at_end = done_slow(&copy);
    *p = copy;
    return at_end;
  }
  // The same for a p that is not inside().
  bool done_slow(const char** p);
  // From p to the end of the innermost message.
  int64_t left(const char* p) const { return limit_ - (p - end_); }
  // From p to where it would no longer be inside(); negative behind that. Never more than left() and contiguous().
  int64_t left_inside(const char* p) const { return limit_ptr_ - p; }
  // Bytes that can be read at p; may go beyond the innermost message.
  int64_t contiguous(const char* p) const { return reach_ + kSlop - p; }
  // The same without regard to slices.
  int64_t left_of_piece(const char* p) const { return last_ + kSlop - p; }
  bool in_piece() const { return !in_patch_; }
  // In a piece: one past what belongs to it, a writable extra byte included.
  const char* piece_end() const { return piece_end_; }

  // Enters a message of `size` bytes, size <= left(p); the result goes to pop_limit.
  int64_t push_limit(const char* p, int64_t size) {
    int64_t inner = size + (p - end_);
    int64_t outer_minus_inner = limit_ - inner;
    limit_ = inner;
    set_limit_ptr();
    return outer_minus_inner;
  }
  // The same where it is known how much of the outer message lies behind the inner one, which is then what pop_limit
  // takes.
  void shrink_limit(int64_t outer_minus_inner) {
    limit_ -= outer_minus_inner;
    set_limit_ptr();
  }
  void pop_limit(int64_t outer_minus_inner) {
    limit_ += outer_minus_inner;
    set_limit_ptr();
  }

  // Copies (to == null: skips) `size` bytes, size <= left(p); the position behind them, or null if reading is stopped.
  const char* copy(const char* p, char* to, size_t size) {
    if (static_cast<int64_t>(size) <= contiguous(p)) [[likely]] {
      if (to != nullptr) std::memcpy(to, p, size);
      return p + size;
    }
    return copy_slow(p, to, size);
  }

  // Where the `size` bytes at p lie in the caller's memory; null if not in one piece. *writable_behind: the byte
  // behind them belongs to the same piece.
  const char* origin(const char* p, size_t size, bool* writable_behind) const;

  // Position of p in the whole input.
  size_t limit_offset() const { return static_cast<size_t>(end_offset_ + limit_); }
  size_t offset(const char* p) const { return static_cast<size_t>(end_offset_ + (p - end_)); }

 private:
  void set_limit_ptr() { limit_ptr_ = end_ + (limit_ < 0 ? limit_ : 0); }
  // A slice from p on, or what is left of the piece.
  void shorten(const char* p) {
    const char* end = last_ - p > slice_ ? p + slice_ : last_;
    advance_end(end, end - end_);
    reach_ = last_ - end > reach() ? end + reach() : last_;
  }
  void advance_end(const char* end, ptrdiff_t by) {
    end_ = end;
    limit_ -= by;
    end_offset_ += by;
    set_limit_ptr();
  }
  // Reads on in `piece`; end_ stood at its byte 0 (already == 0: 16 bytes in front of it).
  void enter_piece(std::string_view piece, ptrdiff_t already) {
    in_patch_ = false;
    piece_end_ = piece.data() + piece.size() + (next_piece_ == pieces_end_ ? extra_ : 0);
    advance_end(piece.data() + piece.size() - kSlop, static_cast<ptrdiff_t>(piece.size()) - already);
    last_ = reach_ = end_;
    if (pauses()) shorten(piece.data());
  }
  // The whole input lies in the patch buffer's second half.
  const char* start_in_patch(std::string_view piece) {
    second_half_ = piece;
    second_half_end_ = piece.data() + piece.size() + extra_;
    std::memset(patch_ + kSlop, 0, sizeof(patch_) - kSlop);
    if (!piece.empty()) std::memcpy(patch_ + kSlop, piece.data(), piece.size());
    last_ = reach_ = end_ = patch_ + kSlop + piece.size();
    limit_ = 0;
    end_offset_ = static_cast<int64_t>(piece.size());
    set_limit_ptr();
    return patch_ + kSlop;
  }
  // On to the next slice, the patch buffer or the next piece. Null: reading is stopped.
  const char* move_on(const char* p);
  const char* flip(const char* p);
  const char* copy_slow(const char* p, char* to, size_t size);

  // Set by start(). Members of a piece or of the patch buffer are set when the first one begins.
  const char* limit_ptr_;
  const char* end_;
  const char* reach_;  // end_, or behind it
  const char* last_;   // reach_, or behind it
  int64_t limit_;
  int64_t end_offset_;
  bool in_patch_ = true;
  const std::string_view* next_piece_;
  const std::string_view* pieces_end_;
  size_t extra_;
  const char* piece_end_;  // of the piece being read: one past what belongs to it, the extra byte included
  // What the patch buffer's two halves are copies of; null: of no single piece.
  const char* first_half_ = nullptr;
  const char* first_half_end_;
  std::string_view second_half_;
  const char* second_half_end_;
  Pause pause_;
  ptrdiff_t slice_ = 0;
  bool stopped_ = false;
  char patch_[2 * kSlop + kWholeInPatch];
};

}  // namespace drover
