#include "engine/base/pace.h"

#include <gtest/gtest.h>

namespace drover::engine {
namespace {

TEST(Pace, HasNoEndAtFirst) {
  Pace pace;
  for (int i = 0; i < 10 * Pace::kUnits; ++i) ASSERT_TRUE(pace.go_on());
}

TEST(Pace, EndsAtTheNextLookAtTheClock) {
  Pace pace;
  pace.run_until(monotonic_ns() - 1);
  int units = 0;
  while (pace.go_on()) ++units;
  EXPECT_LT(units, Pace::kUnits);
  EXPECT_FALSE(pace.go_on()) << "once over, it stays so";
}

TEST(Pace, LooksAtTheClockAtOnceAfterALargeUnit) {
  Pace pace;
  pace.run_until(monotonic_ns() - 1);
  ASSERT_TRUE(pace.go_on());
  pace.spend(1'000'000);
  EXPECT_FALSE(pace.go_on());
}

TEST(Pace, GoesOnWhileThereIsTime) {
  Pace pace;
  pace.run_until(monotonic_ns() + 60'000'000'000);
  for (int i = 0; i < 10 * Pace::kUnits; ++i) {
    ASSERT_TRUE(pace.go_on());
    pace.spend(3);
  }
}

}  // namespace
}  // namespace drover::engine
