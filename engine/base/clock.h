// The engine's clock: CLOCK_MONOTONIC in nanoseconds, as every deadline and timer of the engine counts.
#pragma once

#include <cstdint>
#include <ctime>

namespace drover::engine {

// A deadline that never comes.
inline constexpr int64_t kNoDeadline = INT64_MAX;

inline int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace drover::engine
