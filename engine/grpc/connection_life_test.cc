#include "engine/grpc/connection_life.h"

#include <gtest/gtest.h>

namespace drover::engine {
namespace {

using Due = ConnectionLife::Due;
constexpr int64_t kS = 1'000'000'000;
constexpr int64_t kStart = 1'000 * kS;

TEST(ConnectionLife, APeerThatIsHeardFromIsNotPinged) {
  TransportOptions options;
  options.keepalive_ns = 10 * kS;
  ConnectionLife life(options, kStart);
  for (int64_t s = 1; s < 100; ++s) {
    if (s % 9 == 0) life.received(kStart + s * kS);
    EXPECT_EQ(life.check(kStart + s * kS, 0), Due::kNothing) << s;
  }
}

TEST(ConnectionLife, ASilentPeerIsPingedOnceAndIsGoneIfItStaysSilent) {
  TransportOptions options;
  options.keepalive_ns = 10 * kS;
  options.keepalive_timeout_ns = 5 * kS;
  ConnectionLife life(options, kStart);
  EXPECT_EQ(life.check(kStart + 10 * kS, 0), Due::kNothing);
  EXPECT_EQ(life.check(kStart + 11 * kS, 0), Due::kPing);
  EXPECT_EQ(life.check(kStart + 12 * kS, 0), Due::kNothing);
  EXPECT_EQ(life.check(kStart + 17 * kS, 0), Due::kGone);
}

TEST(ConnectionLife, AnAnswerBeginsTheTimeAnew) {
  TransportOptions options;
  options.keepalive_ns = 10 * kS;
  options.keepalive_timeout_ns = 5 * kS;
  ConnectionLife life(options, kStart);
  EXPECT_EQ(life.check(kStart + 11 * kS, 0), Due::kPing);
  life.received(kStart + 12 * kS);
  EXPECT_EQ(life.check(kStart + 20 * kS, 0), Due::kNothing);
  EXPECT_EQ(life.check(kStart + 23 * kS, 0), Due::kPing);
}

TEST(ConnectionLife, AnOldConnectionIsDrainedOnceAndEndsAfterItsGrace) {
  TransportOptions options;
  options.keepalive_ns = 0;
  options.max_age_ns = 100 * kS;
  options.max_age_grace_ns = 20 * kS;
  ConnectionLife life(options, kStart);
  int64_t drained = 0, ended = 0;
  for (int64_t s = 1; s < 200 && ended == 0; ++s) {
    const Due due = life.check(kStart + s * kS, 0);
    if (due == Due::kDrain) {
      EXPECT_EQ(drained, 0);
      drained = s;
    }
    if (due == Due::kEnd) ended = s;
  }
  EXPECT_GE(drained, 90);
  EXPECT_LE(drained, 111);
  EXPECT_GE(ended, drained + 19);
  EXPECT_LE(ended, drained + 21);
}

TEST(ConnectionLife, AgesDiffer) {
  TransportOptions options;
  options.keepalive_ns = 0;
  options.max_age_ns = 1000 * kS;
  int drained = 0;
  for (int i = 0; i < 100; ++i) {
    ConnectionLife life(options, kStart);
    drained += life.check(kStart + 1000 * kS, 0) == Due::kDrain;
  }
  EXPECT_GT(drained, 20);
  EXPECT_LT(drained, 80);
}

TEST(ConnectionLife, WithoutLimitsNothingIsEverDue) {
  TransportOptions options;
  options.keepalive_ns = options.max_age_ns = options.idle_timeout_ns = 0;
  ConnectionLife life(options, kStart);
  EXPECT_EQ(life.check(INT64_MAX - 1, kStart), Due::kNothing);
}

}  // namespace
}  // namespace drover::engine
