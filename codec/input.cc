// The slow paths of Input: moving between pieces and the patch buffer.
#include "codec/input.h"

#include <algorithm>

namespace drover {

bool Input::done_slow(const char** p) {
  for (;;) {
    ptrdiff_t overrun = *p - end_;
    if (overrun == limit_) return true;
    if (overrun > limit_) {
      *p = nullptr;
      return true;
    }
    *p = move_on(*p);
    if (*p == nullptr) return true;
    if (*p < limit_ptr_) return false;
  }
}

// p is at or behind end_, and at most 16 bytes behind last_.
const char* Input::move_on(const char* p) {
  if (pauses()) [[unlikely]] {
    if (!go_on()) return nullptr;
    shorten(p);
    if (p < end_) return p;
  }
  return flip(p);
}

// end_ is last_, p is at or up to 16 bytes behind it, and the innermost message goes on behind p.
const char* Input::flip(const char* p) {
  ptrdiff_t over = p - end_;
  if (in_patch_ && second_half_.size() > static_cast<size_t>(kSlop)) {
    std::string_view piece = second_half_;
    second_half_ = {};
    enter_piece(piece, kSlop);
    return piece.data() + over;
  }
  first_half_ = in_patch_ ? nullptr : end_;
  first_half_end_ = piece_end_;
  std::memmove(patch_, end_, kSlop);
  in_patch_ = true;
  while (next_piece_ != pieces_end_ && next_piece_->empty()) ++next_piece_;
  ptrdiff_t added = kSlop;
  if (next_piece_ == pieces_end_) {
    second_half_ = {};
    std::memset(patch_ + kSlop, 0, sizeof(patch_) - kSlop);
  } else {
    second_half_ = *next_piece_++;
    bool last = next_piece_ == pieces_end_;
    second_half_end_ = second_half_.data() + second_half_.size() + (last ? extra_ : 0);
    added = std::min<ptrdiff_t>(kSlop, static_cast<ptrdiff_t>(second_half_.size()));
    std::memcpy(patch_ + kSlop, second_half_.data(), static_cast<size_t>(added));
  }
  advance_end(patch_ + added, added);
  last_ = reach_ = end_;
  return patch_ + over;
}

const char* Input::copy_slow(const char* p, char* to, size_t size) {
  for (;;) {
    size_t now = std::min(size, static_cast<size_t>(contiguous(p)));
    if (to != nullptr) {
      std::memcpy(to, p, now);
      to += now;
    }
    p += now;
    size -= now;
    if (size == 0) return p;
    p = move_on(p);
    if (p == nullptr) return nullptr;
  }
}

const char* Input::origin(const char* p, size_t size, bool* writable_behind) const {
  const char* at = nullptr;
  const char* end = nullptr;
  if (!in_patch_) {
    at = p;
    end = piece_end_;
    if (static_cast<int64_t>(size) > left_of_piece(p)) return nullptr;
  } else {
    size_t into = static_cast<size_t>(p - patch_);
    if (into >= kSlop && !second_half_.empty()) {
      size_t inside = into - kSlop;
      if (inside > second_half_.size() || size > second_half_.size() - inside) return nullptr;
      at = second_half_.data() + inside;
      end = second_half_end_;
    } else if (first_half_ != nullptr && into <= kSlop && size <= kSlop - into) {
      at = first_half_ + into;
      end = first_half_end_;
    } else {
      return nullptr;
    }
  }
  *writable_behind = at + size < end;
  return at;
}

}  // namespace drover
