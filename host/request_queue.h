// RequestQueue: request messages of one stream that have arrived and were not read yet.
//
//   the leader:  arrive(offset) ...  announce()        the reader:  front(), pop()
//
// The engine counts a message as with the host until it is announced as consumed, and has at most kMaxStreamMessages
// there; so the queue has a fixed size. A reader that gets the lead or loses it is no matter: each side's words are
// atomic.
//
// Threads: one leader and one reader at a time, which may be the same thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "channel/channel_format.h"

namespace drover::host {

class RequestQueue {
 public:
  // ---- the leader
  // A message (a region offset that was checked), or with `last` maybe none (0). Null, or what was wrong.
  const char* arrive(uint64_t offset, bool last) {
    uint32_t arrived = arrived_.load(std::memory_order_relaxed);
    if (half_closed_.load(std::memory_order_relaxed)) return "a MESSAGE behind the last one";
    if (offset != 0) {
      if (arrived - announced_ >= kMaxStreamMessages) return "more MESSAGEs of a call than it may";
      offsets_[arrived % kMaxStreamMessages] = offset;
      arrived_.store(arrived + 1, std::memory_order_release);
    }
    if (last) half_closed_.store(true, std::memory_order_release);
    return nullptr;
  }
  // How many were consumed since it was called last. What it counts is the engine's again.
  uint32_t announce() {
    uint32_t taken = taken_.load(std::memory_order_acquire), count = taken - announced_;
    announced_ = taken;
    return count;
  }
  void reset() {
    arrived_.store(0, std::memory_order_relaxed);
    taken_.store(0, std::memory_order_relaxed);
    half_closed_.store(false, std::memory_order_relaxed);
    announced_ = 0;
  }

  // ---- the reader
  bool empty() const { return arrived_.load(std::memory_order_acquire) == taken_.load(std::memory_order_relaxed); }
  uint64_t front() const { return offsets_[taken_.load(std::memory_order_relaxed) % kMaxStreamMessages]; }
  // The front is not looked at any more.
  void pop() { taken_.fetch_add(1, std::memory_order_seq_cst); }
  // Nothing is left, and nothing will come.
  bool ended() const { return half_closed_.load(std::memory_order_acquire) && empty(); }

 private:
  std::array<uint64_t, kMaxStreamMessages> offsets_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> taken_{0};
  std::atomic<bool> half_closed_{false};
  uint32_t announced_ = 0;  // of taken_
};

}  // namespace drover::host
