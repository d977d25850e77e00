// A clock of a few cycles' cost, for "did this take long" on the hot path: the CPU's own counter. Not comparable
// between machines, not adjusted, good to a few per cent.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "channel/doorbell.h"

namespace drover::host {

inline uint64_t cycle_now() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<uint64_t>(monotonic_ns());
#endif
}

// Counts in a microsecond, measured over 2 ms at the first call.
inline uint64_t cycles_per_us() {
  static const uint64_t rate = [] {
    int64_t begin_ns = monotonic_ns(), end_ns = begin_ns;
    uint64_t begin = cycle_now();
    while (end_ns - begin_ns < 2'000'000) end_ns = monotonic_ns();
    uint64_t result = (cycle_now() - begin) * 1000 / static_cast<uint64_t>(end_ns - begin_ns);
    return result == 0 ? 1 : result;
  }();
  return rate;
}

}  // namespace drover::host
