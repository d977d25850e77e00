#include "datagram/slot_receiver.h"

#include <algorithm>
#include <new>

namespace drover {

LinkRefusal SlotReceiver::keep(uint64_t first, size_t count, const std::byte* slots) {
  if (kept_ == nullptr) {
    if (!memory_.take(kept_bytes())) return LinkRefusal::kNoRoom;
    try {
      bits_.assign(window_ / 64, 0);
      kept_.reset(new Slot[window_]);
    } catch (const std::bad_alloc&) {
      memory_.give(kept_bytes());
      return LinkRefusal::kNoRoom;
    }
  }
  uint32_t fresh = 0;
  for (size_t i = 0; i != count; ++i) {
    if (has(first + i)) continue;
    const uint64_t at = (first + i) & (window_ - 1);
    bits_[at / 64] |= uint64_t{1} << at % 64;
    std::memcpy(&kept_[at], slots + i * sizeof(Slot), sizeof(Slot));
    ++fresh;
  }
  kept_count_ += fresh;
  kept_end_ = std::max(kept_end_, first + count);
  return fresh == 0 ? LinkRefusal::kDuplicate : LinkRefusal::kOk;
}

bool SlotReceiver::ranges(LinkRanges* ranges) const {
  if (kept_count_ == 0) return false;
  *ranges = LinkRanges{};
  bool inside = false;
  for (uint64_t number = expected_; number < kept_end_; ++number) {
    if (!inside && number % 64 == 0 && bits_[(number & (window_ - 1)) / 64] == 0) {
      number += 63;
      continue;
    }
    if (has(number) == inside) continue;
    if (!inside && ranges->count == kLinkMaxRanges) return true;
    const auto from_ack = static_cast<uint16_t>(number - expected_);
    if (inside) {
      ranges->ranges[2 * ranges->count++ + 1] = from_ack;
    } else {
      ranges->ranges[2 * ranges->count] = from_ack;
    }
    inside = !inside;
  }
  if (inside) ranges->ranges[2 * ranges->count++ + 1] = static_cast<uint16_t>(kept_end_ - expected_);
  return true;
}

}  // namespace drover
