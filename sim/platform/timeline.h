// Simulated time as the parts of a run see it: what time it is, and to be called later. A run (sim/runs) supplies it.
// Thread-safety: one thread.
#pragma once

#include <functional>

#include "sim/platform/units.h"

namespace drover::sim {

class Timeline {
 public:
  virtual ~Timeline() = default;
  virtual Time now() const = 0;
  // Calls `what` at that time, which has not passed. What is due at the same time is called in the order of the calls.
  virtual void at(Time when, std::function<void()> what) = 0;
};

}  // namespace drover::sim
