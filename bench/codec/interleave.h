// Timing of operations side by side: A B C A B C ..., in many short repetitions, so that other load on the machine
// affects all of them alike, and a low quantile of each drops it.
#pragma once

#include <functional>
#include <vector>

namespace drover::bench {

struct Timing {
  double low_ns = 0;     // 5th percentile of the repetitions, of one call
  double median_ns = 0;  // its distance above the quantile shows how noisy the machine was
  bool ok = true;        // false: a call failed; the times mean nothing
};

// Each function does its operation `times` times. `seconds` is for all of them together.
std::vector<Timing> time_interleaved(const std::vector<std::function<bool(int times)>>& functions, double seconds);

}  // namespace drover::bench
