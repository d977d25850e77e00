// TimerWheel: the deadlines of one engine thread's calls.
//
// Four wheels of falling resolution; a timer sits in the finest one that reaches it and moves down as its time
// comes nearer. Arming and disarming are a few instructions and allocate nothing: the node is part of its owner.
//
//   wheel 0: 256 slots of 1 ms | 1: 64 of 256 ms | 2: 64 of 16.4 s | 3: 64 of 17.5 min (later ones wait in its last)
//
// A timer never fires early, and at most one tick (plus the time between two calls of `advance`) late. One call of
// `advance` handles a bounded number of timers, however many are due together; the others follow in the next calls.
// Thread-safety: none. Lifetime: a node must be disarmed before its memory goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace drover::engine {

struct TimerNode {
  TimerNode* next = nullptr;
  TimerNode* prev = nullptr;
  uint64_t tick = 0;
  uint32_t slot = 0;
  bool armed() const { return next != nullptr; }
};

class TimerWheel {
 public:
  static constexpr int64_t kTickNs = 1'000'000;

  explicit TimerWheel(int64_t now_ns);
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Fires at `when_ns` (CLOCK_MONOTONIC) or as soon as it can if that has passed. An armed node is moved.
  void arm(TimerNode& node, int64_t when_ns);
  void disarm(TimerNode& node);
  // With nothing armed, time may have passed without `advance`.
  void catch_up(int64_t now_ns) {
    if (armed_ == 0 && static_cast<uint64_t>(now_ns) / kTickNs > current_) {
      current_ = static_cast<uint64_t>(now_ns) / kTickNs;
    }
  }

  // Disarms timers that are due and calls expired(node) for each, which may arm and disarm any timer. Ends when `most`
  // timers have fired or have moved to a finer wheel; next_ns() then has passed. Returns how many fired.
  template <typename Expired>
  size_t advance(int64_t now_ns, size_t most, Expired&& expired) {
    const uint64_t target = static_cast<uint64_t>(now_ns) / kTickNs;
    size_t fired = 0;
    for (;; step_towards(target)) {
      most -= place_again(most);
      if (!is_empty(moving_)) break;
      take_due();
      for (; most != 0 && !is_empty(due_); --most, ++fired) {
        TimerNode& node = *due_.next;
        disarm(node);
        expired(node);
      }
      if (!is_empty(due_) || current_ >= target) break;
    }
    return fired;
  }

  // When `advance` has something to do at the latest; INT64_MAX if nothing is armed.
  int64_t next_ns() const;
  size_t size() const { return armed_; }

 private:
  static constexpr int kWheels = 4;
  static constexpr uint32_t kSlots0 = 256, kSlots = 64;
  static constexpr uint32_t kFirstSlot[kWheels] = {0, 256, 320, 384};
  static constexpr int kShift[kWheels] = {0, 8, 14, 20};
  static constexpr uint32_t kAllSlots = 448;

  static bool is_empty(const TimerNode& list) { return list.next == &list; }
  void insert(TimerNode& node);
  void step_towards(uint64_t target);
  // Timers of that wheel's current slot come nearer.
  void cascade(int wheel);
  // Places such timers in their finer wheels. Returns how many.
  size_t place_again(size_t most);
  void take_due();
  uint32_t slot_in(int wheel, uint64_t tick) const {
    return kFirstSlot[wheel] + static_cast<uint32_t>((tick >> kShift[wheel]) & (wheel == 0 ? kSlots0 - 1 : kSlots - 1));
  }
  // The distance in slots of `wheel` from the current slot to the next occupied one; 0: all are empty.
  uint32_t distance_to_next(int wheel) const;

  uint64_t current_;  // the last tick that was handled
  size_t armed_ = 0;
  std::array<TimerNode, kAllSlots> slots_;           // heads of circular lists
  std::array<uint64_t, kAllSlots / 64> occupied_{};  // one bit a slot
  TimerNode due_;                                    // heads, too: of current_ or before, and not fired yet
  TimerNode moving_;                                 // to be placed again
};

}  // namespace drover::engine
