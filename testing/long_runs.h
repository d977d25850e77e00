// How many random cases a test runs: a few by default, many times as many under `make test-long`, which sets
// DROVER_TEST_FACTOR (drover_long_test in CMake). Seeds start at the same number, so a long run contains the short one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace drover::testing {

// At least 1; from the environment.
inline int test_factor() {
  const char* text = std::getenv("DROVER_TEST_FACTOR");
  int factor = text == nullptr ? 1 : std::atoi(text);
  return factor < 1 ? 1 : factor;
}

// Seeds 1, 2, ... for INSTANTIATE_TEST_SUITE_P: `few` of them, times the factor.
template <typename Seed = int>
auto seeds(int few) {
  return ::testing::Range<Seed>(1, static_cast<Seed>(1 + few * test_factor()));
}

}  // namespace drover::testing
