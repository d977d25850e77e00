#include "engine/http2/ping_policy.h"

#include <gtest/gtest.h>

namespace drover::engine::http2 {
namespace {

constexpr int64_t kS = 1'000'000'000;
constexpr PingLimits kTwoStrikes = {.min_interval_ns = 10 * kS, .max_strikes = 2};

TEST(PingPolicy, TheFirstIsFreeAndTheThirdThatComesTooEarlyIsTooMany) {
  PingPolicy policy(kTwoStrikes);
  EXPECT_TRUE(policy.take(0, 0, true));
  EXPECT_TRUE(policy.take(1 * kS, 0, true));
  EXPECT_TRUE(policy.take(2 * kS, 0, true));
  EXPECT_FALSE(policy.take(3 * kS, 0, true));
}

TEST(PingPolicy, ThoseThatKeepTheIntervalGoOnForEver) {
  PingPolicy policy(kTwoStrikes);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_TRUE(policy.take(i * 10 * kS, 0, true));
}

TEST(PingPolicy, WhatTheServerSendsForgivesStrikes) {
  PingPolicy policy(kTwoStrikes);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(policy.take(static_cast<int64_t>(i), i / 3, true));
}

TEST(PingPolicy, WithoutCallsTheIntervalIsTwoHoursUnlessTheyAreAllowed) {
  PingPolicy policy(kTwoStrikes);
  for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(policy.take(i * 3600 * kS, 0, false));
  EXPECT_FALSE(policy.take(int64_t{3} * 3600 * kS, 0, false));

  PingPolicy allowed({.min_interval_ns = 10 * kS, .without_calls = true, .max_strikes = 2});
  for (int64_t i = 0; i < 100; ++i) ASSERT_TRUE(allowed.take(i * 10 * kS, 0, false));
}

TEST(PingPolicy, NothingIsCountedWithoutALimit) {
  PingPolicy policy({});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(policy.take(0, 0, false));
}

}  // namespace
}  // namespace drover::engine::http2
