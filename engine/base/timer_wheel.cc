// TimerWheel's slow parts; see timer_wheel.h for the picture.
#include "engine/base/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace drover::engine {
namespace {

void link_before(TimerNode& head, TimerNode& node) {
  node.prev = head.prev;
  node.next = &head;
  head.prev->next = &node;
  head.prev = &node;
}

// The nodes of `from` go to the end of `to`.
void splice(TimerNode& from, TimerNode& to) {
  if (from.next == &from) return;
  from.next->prev = to.prev;
  to.prev->next = from.next;
  from.prev->next = &to;
  to.prev = from.prev;
  from.next = from.prev = &from;
}

}  // namespace

TimerWheel::TimerWheel(int64_t now_ns) : current_(static_cast<uint64_t>(now_ns) / kTickNs) {
  for (TimerNode& head : slots_) head.next = head.prev = &head;
  for (TimerNode* head : {&due_, &moving_}) head->next = head->prev = head;
}

void TimerWheel::arm(TimerNode& node, int64_t when_ns) {
  if (node.armed()) disarm(node);
  uint64_t when = when_ns <= 0 ? 0 : static_cast<uint64_t>(when_ns);
  node.tick = std::max(when / kTickNs + (when % kTickNs != 0), current_ + 1);
  insert(node);
  ++armed_;
}

void TimerWheel::disarm(TimerNode& node) {
  if (!node.armed()) return;
  node.prev->next = node.next;
  node.next->prev = node.prev;
  // A node that is due or moves names a slot that it has left; an empty slot has no bit in any case.
  if (is_empty(slots_[node.slot])) {
    occupied_[node.slot / 64] &= ~(uint64_t{1} << (node.slot % 64));
  }
  node.next = node.prev = nullptr;
  --armed_;
}

// A tick sits in the lowest wheel in which it is less than one turn ahead, so that its slot comes up at its time.
void TimerWheel::insert(TimerNode& node) {
  int wheel = 0;
  while (wheel < kWheels - 1) {
    uint64_t ahead = (node.tick >> kShift[wheel]) - (current_ >> kShift[wheel]);
    if (ahead < (wheel == 0 ? kSlots0 : kSlots)) break;
    ++wheel;
  }
  uint64_t place = node.tick;
  if (wheel == kWheels - 1) {  // too far away: waits in the last slot, and is placed again from there
    uint64_t last = ((current_ >> kShift[wheel]) + kSlots - 1) << kShift[wheel];
    place = std::min(place, last);
  }
  node.slot = slot_in(wheel, place);
  link_before(slots_[node.slot], node);
  occupied_[node.slot / 64] |= uint64_t{1} << (node.slot % 64);
}

// Moves current_ to the next tick at which anything can happen: an occupied slot of wheel 0, or a turn of it.
void TimerWheel::step_towards(uint64_t target) {
  if (armed_ == 0) {
    current_ = target;
    return;
  }
  uint64_t turn = (current_ / kSlots0 + 1) * kSlots0;
  uint32_t ahead = distance_to_next(0);
  uint64_t next = ahead == 0 ? turn : std::min(turn, current_ + ahead);
  current_ = std::min(next, target);
  if (current_ != turn) return;
  for (int wheel = 1; wheel < kWheels; ++wheel) {
    cascade(wheel);
    if (((current_ >> kShift[wheel]) & (kSlots - 1)) != 0) break;
  }
}

void TimerWheel::cascade(int wheel) {
  const uint32_t slot = slot_in(wheel, current_);
  splice(slots_[slot], moving_);
  occupied_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
}

size_t TimerWheel::place_again(size_t most) {
  size_t placed = 0;
  for (; placed < most && !is_empty(moving_); ++placed) {
    TimerNode& node = *moving_.next;
    moving_.next = node.next;
    node.next->prev = &moving_;
    insert(node);
  }
  return placed;
}

void TimerWheel::take_due() {
  const uint32_t slot = slot_in(0, current_);
  splice(slots_[slot], due_);
  occupied_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
}

uint32_t TimerWheel::distance_to_next(int wheel) const {
  uint32_t slots = wheel == 0 ? kSlots0 : kSlots;
  uint32_t first_word = kFirstSlot[wheel] / 64, words = slots / 64;
  uint32_t here = slot_in(wheel, current_) - kFirstSlot[wheel];
  // Word by word from behind `here`, round the wheel, back to the low bits of the word that holds `here`.
  for (uint32_t i = 0; i <= words; ++i) {
    uint32_t word = (here / 64 + i) % words;
    uint64_t bits = occupied_[first_word + word];
    if (i == 0) bits &= here % 64 == 63 ? 0 : ~uint64_t{0} << (here % 64 + 1);
    if (i == words) bits &= (uint64_t{1} << (here % 64)) - 1;
    if (bits == 0) continue;
    uint32_t found = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    return (found + slots - here) % slots;
  }
  return 0;
}

int64_t TimerWheel::next_ns() const {
  if (armed_ == 0) return INT64_MAX;
  if (!is_empty(due_) || !is_empty(moving_)) return static_cast<int64_t>(current_) * kTickNs;
  uint64_t earliest = UINT64_MAX;
  for (int wheel = 0; wheel < kWheels; ++wheel) {
    uint32_t ahead = distance_to_next(wheel);
    if (ahead != 0) earliest = std::min(earliest, ((current_ >> kShift[wheel]) + ahead) << kShift[wheel]);
  }
  // Every armed timer is ahead of the current slot of its wheel; if that were violated, wake often.
  if (earliest == UINT64_MAX) earliest = current_ + 1;
  return static_cast<int64_t>(earliest) * kTickNs;
}

}  // namespace drover::engine
