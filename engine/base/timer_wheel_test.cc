// TimerWheel against a sorted list: nothing early, nothing lost, nothing late by more than a tick.
#include "engine/base/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 123'456'789'012'345;

constexpr size_t kAll = SIZE_MAX;

struct Timer {
  TimerNode node;  // first: a node's address is its Timer's
  int64_t when = 0;
  int fired = 0;
};

TEST(TimerWheel, ATimerFiresAtItsTimeAndNotBefore) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer.node, kStart + 5 * kMs + 1);
  auto fire = [](TimerNode& node) { ++reinterpret_cast<Timer&>(node).fired; };
  EXPECT_EQ(wheel.advance(kStart + 5 * kMs, kAll, fire), 0u);
  EXPECT_EQ(wheel.advance(kStart + 7 * kMs, kAll, fire), 1u);
  EXPECT_EQ(timer.fired, 1);
  EXPECT_FALSE(timer.node.armed());
  EXPECT_EQ(wheel.next_ns(), INT64_MAX);
}

TEST(TimerWheel, ATimeThatHasPassedFiresAtTheNextTick) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer.node, kStart - 100 * kMs);
  EXPECT_LE(wheel.next_ns(), kStart + 2 * kMs);
  EXPECT_EQ(wheel.advance(kStart + 2 * kMs, kAll, [](TimerNode&) {}), 1u);
}

TEST(TimerWheel, ADisarmedTimerNeverFiresEvenIfItsNeighbourDisarmsItWhileFiring) {
  TimerWheel wheel(kStart);
  Timer a, b;
  wheel.arm(a.node, kStart + 3 * kMs);
  wheel.arm(b.node, kStart + 3 * kMs);
  int fired = 0;
  wheel.advance(kStart + 10 * kMs, kAll, [&](TimerNode& node) {
    ++fired;
    wheel.disarm(&node == &a.node ? b.node : a.node);
  });
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, TimersThatAreDueTogetherFireAFewACallAndNoneIsLost) {
  TimerWheel wheel(kStart);
  std::vector<Timer> timers(1000);
  for (Timer& timer : timers) wheel.arm(timer.node, kStart + 5 * kMs);
  std::vector<size_t> fired;
  auto fire = [](TimerNode& node) { ++reinterpret_cast<Timer&>(node).fired; };
  while (wheel.size() != 0) {
    EXPECT_LE(wheel.next_ns(), kStart + 6 * kMs) << "there is more to do now";
    fired.push_back(wheel.advance(kStart + 6 * kMs, 300, fire));
    if (fired.size() == 1) wheel.disarm(timers[999].node);  // due, but not fired yet
  }
  EXPECT_EQ(fired, (std::vector<size_t>{300, 300, 300, 99}));
  for (size_t i = 0; i < 999; ++i) EXPECT_EQ(timers[i].fired, 1);
  EXPECT_EQ(timers[999].fired, 0);
}

TEST(TimerWheel, TimersThatComeNearerTogetherMoveAFewACall) {
  TimerWheel wheel(kStart);
  std::vector<Timer> timers(1000);
  for (Timer& timer : timers) wheel.arm(timer.node, kStart + 10'000 * kMs);
  size_t calls = 0;
  for (int64_t now = kStart; wheel.size() != 0; ++calls) {
    now = std::max(now, wheel.next_ns());
    size_t fired = wheel.advance(now, 100, [now](TimerNode&) { EXPECT_GE(now, kStart + 10'000 * kMs); });
    EXPECT_LE(fired, 100u);
    ASSERT_LT(calls, 100u);
  }
  EXPECT_GE(calls, 20u) << "1,000 timers move once and fire, 100 a call";
}

TEST(TimerWheel, RandomTimersOverDaysFireInTimeUnderAnyStep) {
  for (size_t most : {kAll, size_t{7}}) {
    std::mt19937_64 random(7);
    TimerWheel wheel(kStart);
    std::vector<Timer> timers(4000);
    for (Timer& timer : timers) {
      int magnitude = static_cast<int>(random() % 38);  // up to 2^37 us: more than a day
      timer.when = kStart + static_cast<int64_t>(random() % (uint64_t{1} << magnitude)) * 1000;
      wheel.arm(timer.node, timer.when);
    }
    for (size_t i = 0; i < timers.size(); i += 5) {
      wheel.disarm(timers[i].node);
      timers[i].fired = -1;
    }
    int64_t now = kStart;
    while (wheel.size() != 0) {
      int64_t next = wheel.next_ns();
      ASSERT_NE(next, INT64_MAX);
      int64_t before = now;
      now = random() % 2 != 0 ? std::max(next, now) : now + static_cast<int64_t>(random() % (1u << (random() % 31)));
      wheel.advance(now, most, [&](TimerNode& node) {
        auto& timer = reinterpret_cast<Timer&>(node);
        EXPECT_EQ(timer.fired, 0);
        timer.fired = 1;
        EXPECT_LE(timer.when, now);
        if (most == kAll) EXPECT_GT(timer.when + 2 * TimerWheel::kTickNs, before);
      });
    }
    for (const Timer& timer : timers) EXPECT_NE(timer.fired, 0);
  }
}

TEST(TimerWheel, ATimerMayArmItselfAgainWhileItFires) {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.arm(timer.node, kStart + kMs);
  int fired = 0;
  wheel.advance(kStart + 1000 * kMs, kAll, [&](TimerNode& node) {
    if (++fired < 10) wheel.arm(node, kStart + (100 * fired) * kMs);
  });
  EXPECT_EQ(fired, 10);
}

}  // namespace
}  // namespace drover::engine
