// Pace: when work that comes in many small units should stop for now. The clock is read every few units, and at once
// after a unit that was large; so a turn ends in time, whatever the units cost.
//
//   pace.run_until(end);
//   while (more work && pace.go_on()) one unit;     a large one also calls pace.spend(its size)
//
// Thread-safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/base/clock.h"

namespace drover::engine {

class Pace {
 public:
  static constexpr int32_t kUnits = 16;  // between two looks at the clock: a unit takes up to about a microsecond

  // CLOCK_MONOTONIC. kNoDeadline, as at first: it never has to stop.
  void run_until(int64_t end_ns) {
    end_ns_ = end_ns;
    left_ = kUnits;
  }
  // Before a unit. False: the time is over.
  bool go_on() { return --left_ > 0 || look(); }
  // The unit at hand is as large as so many more.
  void spend(size_t units) { left_ -= static_cast<int32_t>(std::min<size_t>(units, kUnits)); }
  // As go_on, by the clock.
  bool look() {
    left_ = kUnits;
    if (end_ns_ == kNoDeadline || monotonic_ns() < end_ns_) return true;
    left_ = 0;
    return false;
  }

 private:
  int64_t end_ns_ = kNoDeadline;
  int32_t left_ = kUnits;
};

}  // namespace drover::engine
