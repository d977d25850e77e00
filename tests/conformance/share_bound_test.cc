#include "tests/conformance/share_bound.h"

#include <gtest/gtest.h>

namespace drover::conformance {
namespace {

constexpr ShareBound kBound = {.least_done = 100, .most_left = 3};

TEST(ShareBound, HoldsAtItsLimits) {
  EXPECT_EQ(outside(kBound, 100, 3), "");
  EXPECT_EQ(outside(kBound, 103, 0), "");
}
TEST(ShareBound, FailsIfOneMoreIsLeftToSoftware) {
  EXPECT_EQ(outside(kBound, 100, 4), "4 left to software, expected at most 3");
  EXPECT_EQ(outside({.least_done = 0, .most_left = 0}, 0, 1), "1 left to software, expected at most 0");
}
TEST(ShareBound, FailsIfEverythingIsLeftToSoftware) {
  EXPECT_EQ(outside(kBound, 0, 103),
            "0 done by the hardware, expected at least 100; 103 left to software, expected at most 3");
}

}  // namespace
}  // namespace drover::conformance
