// LongCopy: a reply that is copied out of its host's region, since its client has much of that memory in use already.
// It is copied in slices, while its call waits for it; the host's other answers wait behind it.
//
// The host may change what it lends at any time: each byte is read once, here.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "channel/layout.h"
#include "codec/encode/encode_types.h"

namespace drover::engine {

class LongCopy {
 public:
  static constexpr size_t kSlice = 64 << 10;  // bytes between two looks at the clock

  // Both stay where they are until the copy is done or given up; `to` has room for all pieces.
  LongCopy(const CompleteSlot& slot, std::span<const Piece> pieces, char* to) : slot_(slot), pieces_(pieces), to_(to) {}

  // Of the answer. The call is named by it.
  const CompleteSlot& slot() const { return slot_; }
  // Goes on by a slice at least, until it is done or that time has come (CLOCK_MONOTONIC). True: it is done.
  bool step(int64_t end_ns);

 private:
  void copy_slice();

  const CompleteSlot slot_;
  std::span<const Piece> pieces_;  // the first of which is copied as far as done_
  size_t done_ = 0;
  char* to_;
};

}  // namespace drover::engine
