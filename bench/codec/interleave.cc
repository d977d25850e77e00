#include "bench/codec/interleave.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace drover::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Long against the clock's own cost, short against a time slice.
constexpr double kRepetitionNs = 40000;
constexpr size_t kMinRepetitions = 15;
constexpr double kLowQuantile = 0.05;

double run_ns(const std::function<bool(int)>& function, int times, bool* ok) {
  auto start = Clock::now();
  *ok &= function(times);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// How many calls make one repetition.
int calibrate(const std::function<bool(int)>& function, bool* ok) {
  int times = 1;
  run_ns(function, times, ok);  // warms caches and memory
  for (;;) {
    double ns = std::min(run_ns(function, times, ok), run_ns(function, times, ok));
    if (ns >= kRepetitionNs) return times;
    double grow = ns * 1.2 < kRepetitionNs / 10 ? 10.0 : kRepetitionNs / ns * 1.05;
    times = static_cast<int>(std::ceil(times * grow));
  }
}

double quantile(std::vector<double>& values, double q) {
  auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

std::vector<Timing> time_interleaved(const std::vector<std::function<bool(int times)>>& functions, double seconds) {
  std::vector<Timing> timings(functions.size());
  std::vector<int> times;
  for (size_t i = 0; i < functions.size(); ++i) times.push_back(calibrate(functions[i], &timings[i].ok));
  std::vector<std::vector<double>> samples(functions.size());
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (size_t repetition = 0; repetition < kMinRepetitions || Clock::now() < end; ++repetition) {
    for (size_t i = 0; i < functions.size(); ++i) {
      samples[i].push_back(run_ns(functions[i], times[i], &timings[i].ok) / times[i]);
    }
  }
  for (size_t i = 0; i < functions.size(); ++i) {
    timings[i].low_ns = quantile(samples[i], kLowQuantile);
    timings[i].median_ns = quantile(samples[i], 0.5);
  }
  return timings;
}

}  // namespace drover::bench
