// RingProducer and RingConsumer: the two ends of a one-way ring of 64-byte slots (docs/formats.md, section 3).
//
//   position:      8     9    10    11          capacity 4, third lap:
//   sequence:    [ 3 ] [ 3 ] [ 2 ] [ 2 ]        8 and 9 are published, 10 is what the consumer polls
//
// The valid flag is the sequence inside the slot, so that one cache line moves per message and no index is shared
// on the hot path. Each push publishes its slot; waking a sleeper is the business of channel/doorbell.h, once per
// batch. The consumer never writes the ring: it publishes its position in its own memory every capacity/4 slots,
// and the producer looks there only when the ring seems full.
//
// Neither end trusts the other's memory. The consumer copies a slot once, word by word, and works on the copy.
// The producer accepts a consumer position only between the last one and its own. Sequence and position are the
// only words that are interpreted here; what a slot says is for its reader to check.
//
// Costs, as ring_bench prints them: a round trip is that of two bare cache lines as long as both rings stay in the
// first-level caches (128 slots), and about a quarter more beyond. Fetching the next slot for writing ahead of time was
// tried and lost: the consumer polls that line, so that it only travels once more. A poller should call cpu_relax
// (doorbell.h) between polls.
//
// Thread-safety: one thread per end; the two ends of a ring must not share a cache line when both are in one process.
// Lifetime: the memory must outlive both ends.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "channel/layout.h"

namespace drover {

enum class PushResult {
  kOk,
  kFull,         // try again later; nothing was written
  kPeerInvalid,  // the consumer published a position that cannot be: the peer is broken or hostile
};

namespace ring_internal {

inline constexpr int kWords = kSlotSize / 8;

}  // namespace ring_internal

class RingProducer {
 public:
  RingProducer() = default;
  // `slots`: `capacity` slots (a power of two), zeroed at the ring's birth. `consumed`: in the consumer's memory.
  RingProducer(void* slots, uint32_t capacity, const ConsumerPosition* consumed)
      : slots_(static_cast<uint64_t*>(slots)),
        capacity_(capacity),
        shift_(std::countr_zero(capacity)),
        consumed_(consumed) {}

  // Publishes one slot (bytes 4..63 of `slot`; the sequence is the ring's).
  PushResult try_push(const Slot& slot) {
    return push(slot, [](uint64_t*) {});
  }
  // As try_push, with `second` in place of bytes 8 to 15. A slot that is handed on with a changed header need not be
  // changed in memory: reading back 8 bytes of which some were just written waits until that store has left the core,
  // behind the stores to other cores' lines, some 50 ns.
  PushResult try_push_with(const Slot& slot, uint64_t second) {
    return push(slot, [second](uint64_t* words) { words[1] = second; });
  }
  template <typename T>
  PushResult try_push(const T& typed) {
    return try_push(to_slot(typed));
  }

  // Slots that can surely be pushed now; looks at the consumer's position only if fewer than `wanted` are known.
  // 0 also when the peer is invalid (the next try_push says so).
  uint32_t room(uint32_t wanted = 1) {
    if (capacity_ - (head_ - known_consumed_) < wanted) look_for_room();
    return static_cast<uint32_t>(capacity_ - (head_ - known_consumed_));
  }
  bool full() { return room() == 0; }

  uint64_t pushed() const { return head_; }
  uint32_t capacity() const { return capacity_; }
  // Slots pushed and not known to be taken: an upper bound of the ring's depth, for metrics and dispatch.
  uint64_t depth() const { return head_ - known_consumed_; }

 private:
  uint64_t* slot_at(uint64_t position) const { return slots_ + (position & (capacity_ - 1)) * ring_internal::kWords; }

  template <typename Change>
  PushResult push(const Slot& slot, Change change) {
    if (head_ - known_consumed_ >= capacity_) [[unlikely]] {
      PushResult room = look_for_room();
      if (room != PushResult::kOk) return room;
    }
    uint64_t words[ring_internal::kWords];
    __builtin_memcpy(words, &slot, sizeof words);
    change(words);
    uint64_t* to = slot_at(head_);
    uint32_t sequence = static_cast<uint32_t>((head_ >> shift_) + 1);
    for (int i = 1; i < ring_internal::kWords; ++i) __atomic_store_n(to + i, words[i], __ATOMIC_RELAXED);
    __atomic_store_n(to, (words[0] & ~uint64_t{0xffffffff}) | sequence, __ATOMIC_RELEASE);
    ++head_;
    return PushResult::kOk;
  }

  PushResult look_for_room() {
    // Acquire: the consumer has read every slot before this position.
    uint64_t seen = consumed_->position.load(std::memory_order_acquire);
    if (seen < known_consumed_ || seen > head_) return PushResult::kPeerInvalid;
    known_consumed_ = seen;
    return head_ - seen < capacity_ ? PushResult::kOk : PushResult::kFull;
  }

  uint64_t* slots_ = nullptr;
  uint64_t capacity_ = 0;
  int shift_ = 0;
  const ConsumerPosition* consumed_ = nullptr;
  uint64_t head_ = 0;
  uint64_t known_consumed_ = 0;
};

class RingConsumer {
 public:
  RingConsumer() = default;
  RingConsumer(const void* slots, uint32_t capacity, ConsumerPosition* consumed)
      : slots_(static_cast<const uint64_t*>(slots)),
        capacity_(capacity),
        shift_(std::countr_zero(capacity)),
        publish_every_(capacity / 4),
        consumed_(consumed) {}

  // True if a slot is there to pop. Reads one line and writes nothing.
  bool ready() const { return static_cast<uint32_t>(__atomic_load_n(slot_at(tail_), __ATOMIC_ACQUIRE)) == expected(); }

  // Takes the next slot into `copy`; false if the ring is empty. `copy` is private: no later write by the producer
  // changes it.
  bool try_pop(Slot& copy) {
    const uint64_t* from = slot_at(tail_);
    uint64_t words[ring_internal::kWords];
    words[0] = __atomic_load_n(from, __ATOMIC_ACQUIRE);
    if (static_cast<uint32_t>(words[0]) != expected()) return false;
    for (int i = 1; i < ring_internal::kWords; ++i) words[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    __builtin_memcpy(&copy, words, sizeof words);
    ++tail_;
    if (tail_ - published_ >= publish_every_) [[unlikely]]
      publish();
    return true;
  }

  // Tells the producer now how far we are. Done by itself often enough for progress; worth calling by hand only
  // before a long pause.
  void publish() {
    consumed_->position.store(tail_, std::memory_order_release);
    published_ = tail_;
  }

  uint64_t popped() const { return tail_; }
  uint32_t capacity() const { return static_cast<uint32_t>(capacity_); }

 private:
  const uint64_t* slot_at(uint64_t position) const {
    return slots_ + (position & (capacity_ - 1)) * ring_internal::kWords;
  }
  uint32_t expected() const { return static_cast<uint32_t>((tail_ >> shift_) + 1); }

  const uint64_t* slots_ = nullptr;
  uint64_t capacity_ = 0;
  int shift_ = 0;
  uint64_t publish_every_ = 0;
  ConsumerPosition* consumed_ = nullptr;
  uint64_t tail_ = 0;
  uint64_t published_ = 0;
};

// ---- the rings of one channel, as each side sees them

// Engine side of channel `index`.
struct EngineChannel {
  RingProducer requests;
  RingConsumer responses;

  static EngineChannel open(const Region& region, const RegionLayout& layout, uint32_t index) {
    uint32_t slots = layout.options().ring_slots;
    char* base = region.base();
    return {RingProducer(base + layout.requests_ring(index).offset, slots,
                         reinterpret_cast<ConsumerPosition*>(base + layout.requests_position(index))),
            RingConsumer(base + layout.responses_ring(index).offset, slots,
                         reinterpret_cast<ConsumerPosition*>(base + layout.responses_position(index)))};
  }
};

// Host side of channel `index`.
struct HostChannel {
  RingConsumer requests;
  RingProducer responses;

  static HostChannel open(const Region& region, const RegionLayout& layout, uint32_t index) {
    uint32_t slots = layout.options().ring_slots;
    char* base = region.base();
    return {RingConsumer(base + layout.requests_ring(index).offset, slots,
                         reinterpret_cast<ConsumerPosition*>(base + layout.requests_position(index))),
            RingProducer(base + layout.responses_ring(index).offset, slots,
                         reinterpret_cast<ConsumerPosition*>(base + layout.responses_position(index)))};
  }
};

}  // namespace drover
