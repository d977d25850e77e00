#include "engine/base/fiber.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace drover::engine {
namespace {

TEST(Fiber, WorkStopsWhereItPausesAndGoesOnThere) {
  Fiber fiber;
  std::vector<int> steps;
  ASSERT_TRUE(fiber.start([&] {
    std::string kept(1000, 'k');  // its own stack and heap stay as they are
    for (int i = 0; i < 3; ++i) {
      steps.push_back(i);
      fiber.pause();
      EXPECT_EQ(kept, std::string(1000, 'k'));
    }
  }));
  EXPECT_TRUE(fiber.running());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(fiber.resume());
    EXPECT_EQ(steps.size(), static_cast<size_t>(i) + 1);
  }
  EXPECT_TRUE(fiber.resume());
  EXPECT_FALSE(fiber.running());
}

TEST(Fiber, OneIsUsedAgainAndAgain) {
  Fiber fiber;
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(fiber.start([&fiber, &sum, i] {
      fiber.pause();
      sum += i;
    }));
    EXPECT_FALSE(fiber.resume());
    EXPECT_TRUE(fiber.resume());
  }
  EXPECT_EQ(sum, 4950);
}

int depth(Fiber& fiber, int left) {
  volatile char room[512];
  room[0] = static_cast<char>(left);
  if (left == 0) return fiber.pause(), int{room[0]};
  return depth(fiber, left - 1) + (room[0] != 0 ? 1 : 0);
}

TEST(Fiber, SeveralPauseDeepInTheirStacksAtTheSameTime) {
  Fiber one, other;
  int a = 0, b = 0;
  ASSERT_TRUE(one.start([&] { a = depth(one, 100); }));
  ASSERT_TRUE(other.start([&] { b = depth(other, 50); }));
  EXPECT_FALSE(one.resume());
  EXPECT_FALSE(other.resume());
  EXPECT_TRUE(one.resume());
  EXPECT_TRUE(other.resume());
  EXPECT_EQ(a, 100);
  EXPECT_EQ(b, 50);
}

}  // namespace
}  // namespace drover::engine
