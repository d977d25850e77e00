// SlotReceiver: the other direction of a link: delivers every slot once and in order.
//
//            expected                                    expected + window
//   delivered  |  missing  [ kept ]  missing  [ kept ]  |         later ones are refused
//
// What comes in order is delivered out of its datagram; only what comes too early is copied. Every slot has a number of
// 64 bits, of which datagrams carry the low half.
// Thread-safety: none. Allocates with the first slot that comes too early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "channel/channel_format.h"
#include "datagram/link_format.h"
#include "datagram/slot_sender.h"

namespace drover {

class SlotReceiver {
 public:
  // `window`: a power of two, 64 to 32,768. `memory` outlives it.
  SlotReceiver(uint32_t window, LinkMemory& memory) : window_(window), memory_(memory) {}
  ~SlotReceiver() { memory_.give(kept_ == nullptr ? 0 : kept_bytes()); }
  SlotReceiver(const SlotReceiver&) = delete;
  SlotReceiver& operator=(const SlotReceiver&) = delete;

  // The number whose low half is `sequence`, near what is expected. UINT64_MAX: it would
  // be negative.
  uint64_t number(uint32_t sequence) const {
    const auto ahead = static_cast<int32_t>(sequence - static_cast<uint32_t>(expected_));
    return ahead < 0 && static_cast<uint64_t>(-int64_t{ahead}) > expected_ ? UINT64_MAX
                                                                           : expected_ + static_cast<uint64_t>(ahead);
  }

  // `count` slots of a datagram, from number `first` on. deliver(const std::byte*) -> bool is called for each that is
  // next; false: no more is to be delivered, ever.
  template <typename Deliver>
  LinkRefusal take(uint64_t first, size_t count, const std::byte* slots, Deliver&& deliver) {
    owed_ = true;
    if (first + count <= expected_) return urgent_ = true, LinkRefusal::kDuplicate;
    if (first + count > expected_ + window_) return LinkRefusal::kOutOfWindow;
    if (first > expected_) {
      urgent_ = true;
      return keep(first, count, slots);
    }
    for (size_t i = expected_ - first; i != count; ++i) {
      if (kept_count_ != 0 && has(expected_)) [[unlikely]]
        forget(expected_);
      ++expected_;
      ++since_ack_;
      if (!deliver(slots + i * sizeof(Slot))) return LinkRefusal::kOk;
    }
    while (kept_count_ != 0 && has(expected_)) {
      const Slot& slot = kept_[expected_ & (window_ - 1)];
      forget(expected_++);
      urgent_ = true;
      if (!deliver(reinterpret_cast<const std::byte*>(&slot))) return LinkRefusal::kOk;
    }
    return LinkRefusal::kOk;
  }

  uint64_t expected() const { return expected_; }
  uint32_t window() const { return window_; }
  // True: `*ranges` says what is kept. The first LinkMaxRanges of it.
  bool ranges(LinkRanges* ranges) const;

  // ---- acknowledgements
  bool owes() const { return owed_; }
  // It should go out now: slots are missing or came twice, or many came.
  bool urgent() const { return urgent_ || since_ack_ >= kAckAfter; }
  void asked() { owed_ = urgent_ = true; }
  bool misses() const { return kept_count_ != 0; }
  void told() { owed_ = urgent_ = false, since_ack_ = 0; }

  static constexpr uint32_t kAckAfter = 256;

 private:
  LinkRefusal keep(uint64_t first, size_t count, const std::byte* slots);
  size_t kept_bytes() const { return window_ * sizeof(Slot) + window_ / 8; }
  bool has(uint64_t number) const {
    const uint64_t at = number & (window_ - 1);
    return (bits_[at / 64] >> at % 64 & 1) != 0;
  }
  void forget(uint64_t number) {
    const uint64_t at = number & (window_ - 1);
    bits_[at / 64] &= ~(uint64_t{1} << at % 64);
    --kept_count_;
  }

  const uint32_t window_;
  LinkMemory& memory_;
  uint64_t expected_ = 0;
  std::unique_ptr<Slot[]> kept_;  // by number, modulo the window; null until something is
  std::vector<uint64_t> bits_;    // which are
  uint32_t kept_count_ = 0;
  uint64_t kept_end_ = 0;  // behind the last that is kept
  uint32_t since_ack_ = 0;
  bool owed_ = false, urgent_ = false;
};

}  // namespace drover
