// One source, built twice: against Drover and against protobuf C++. Both must pass.
// google/protobuf/util/time_util.h.
#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>

namespace {

using google::protobuf::Duration;
using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

Duration duration(int64_t seconds, int32_t nanos) {
  Duration made;
  made.set_seconds(seconds);
  made.set_nanos(nanos);
  return made;
}
Timestamp timestamp(int64_t seconds, int32_t nanos) {
  Timestamp made;
  made.set_seconds(seconds);
  made.set_nanos(nanos);
  return made;
}

TEST(TimeUtil, PrintsAndParsesTimes) {
  for (const char* text : {"1970-01-01T00:00:00Z", "1972-01-01T10:00:20.021Z", "0001-01-01T00:00:00Z",
                           "9999-12-31T23:59:59.999999999Z", "2026-02-28T01:02:03.000004Z"}) {
    Timestamp parsed;
    ASSERT_TRUE(TimeUtil::FromString(text, &parsed)) << text;
    EXPECT_EQ(TimeUtil::ToString(parsed), text);
  }
  Timestamp parsed;
  ASSERT_TRUE(TimeUtil::FromString("1970-01-01T02:00:00+02:00", &parsed));
  EXPECT_EQ(parsed.seconds(), 0);
  for (const char* text : {"", "now", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z",
                           "1970-01-01T00:00:00Z\"", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z"}) {
    EXPECT_FALSE(TimeUtil::FromString(text, &parsed)) << text;
  }
  EXPECT_EQ(TimeUtil::ToString(timestamp(TimeUtil::kTimestampMaxSeconds + 1, 0)), "InvalidTime");
}

TEST(TimeUtil, PrintsAndParsesDurations) {
  EXPECT_EQ(TimeUtil::ToString(duration(1, 10000000)), "1.010s");
  EXPECT_EQ(TimeUtil::ToString(duration(-1, -10)), "-1.000000010s");
  EXPECT_EQ(TimeUtil::ToString(duration(0, -500000)), "-0.000500s");
  EXPECT_EQ(TimeUtil::ToString(duration(0, 0)), "0s");
  Duration parsed;
  ASSERT_TRUE(TimeUtil::FromString("-1.5s", &parsed));
  EXPECT_EQ(parsed.seconds(), -1);
  EXPECT_EQ(parsed.nanos(), -500000000);
  for (const char* text : {"", "s", "1", "1.5", "1h", "1s "}) {
    EXPECT_FALSE(TimeUtil::FromString(text, &parsed)) << text;
  }
}

TEST(TimeUtil, Converts) {
  EXPECT_EQ(TimeUtil::NanosecondsToDuration(-1999999999).seconds(), -1);
  EXPECT_EQ(TimeUtil::NanosecondsToDuration(-1999999999).nanos(), -999999999);
  EXPECT_EQ(TimeUtil::MicrosecondsToDuration(-1).nanos(), -1000);
  EXPECT_EQ(TimeUtil::MillisecondsToDuration(1001).nanos(), 1000000);
  EXPECT_EQ(TimeUtil::MinutesToDuration(2).seconds(), 120);
  EXPECT_EQ(TimeUtil::HoursToDuration(-1).seconds(), -3600);
  EXPECT_EQ(TimeUtil::DurationToMicroseconds(duration(-1, -1999)), -1000001);
  EXPECT_EQ(TimeUtil::DurationToMilliseconds(duration(2, 999999)), 2000);
  EXPECT_EQ(TimeUtil::DurationToSeconds(duration(-1, -999999999)), -1);
  EXPECT_EQ(TimeUtil::DurationToMinutes(duration(-61, 0)), -1);
  EXPECT_EQ(TimeUtil::DurationToHours(duration(7199, 0)), 1);
  EXPECT_EQ(TimeUtil::DurationToNanoseconds(duration(-1, -1)), -1000000001);
  EXPECT_EQ(TimeUtil::NanosecondsToTimestamp(-1).seconds(), -1);
  EXPECT_EQ(TimeUtil::NanosecondsToTimestamp(-1).nanos(), 999999999);
  EXPECT_EQ(TimeUtil::MillisecondsToTimestamp(-1500).seconds(), -2);
  EXPECT_EQ(TimeUtil::TimestampToMilliseconds(timestamp(-2, 500000000)), -1500);
  EXPECT_EQ(TimeUtil::TimestampToMicroseconds(timestamp(-1, 999999999)), -1);
  EXPECT_EQ(TimeUtil::TimestampToTimeT(TimeUtil::TimeTToTimestamp(77)), 77);
  EXPECT_EQ(TimeUtil::TimevalToTimestamp({5, 6}).nanos(), 6000);
  EXPECT_EQ(TimeUtil::TimestampToTimeval(timestamp(5, 6999)).tv_usec, 6);
  const timeval before = TimeUtil::DurationToTimeval(duration(-1, -500000000));
  EXPECT_EQ(before.tv_sec, -2);
  EXPECT_EQ(before.tv_usec, 500000);
  EXPECT_EQ(TimeUtil::TimevalToDuration({-2, 500000}).seconds(), -1);
  const Timestamp now = TimeUtil::GetCurrentTime();
  EXPECT_GT(now.seconds(), 1'700'000'000);
  EXPECT_EQ(TimeUtil::GetEpoch().seconds(), 0);
}

TEST(TimeUtil, Computes) {
  EXPECT_EQ(duration(1, 500000000) + duration(-2, 0), duration(0, -500000000));
  EXPECT_EQ(duration(3, 0) - duration(0, 1), duration(2, 999999999));
  EXPECT_EQ(duration(-1, -500000000) * 3, duration(-4, -500000000));
  EXPECT_EQ(2 * duration(0, 600000000), duration(1, 200000000));
  EXPECT_EQ(duration(3, 0) / 2, duration(1, 500000000));
  EXPECT_EQ(duration(1, 0) * 0.5, duration(0, 500000000));
  EXPECT_EQ(duration(7, 0) / duration(2, 0), 3);
  EXPECT_EQ(duration(-7, 0) / duration(2, 0), -3);
  EXPECT_EQ(duration(7, 0) % duration(2, 0), duration(1, 0));
  EXPECT_EQ(-duration(1, 5), duration(-1, -5));
  EXPECT_EQ(timestamp(1, 0) - duration(1, 1), timestamp(-1, 999999999));
  EXPECT_EQ(timestamp(1, 999999999) + duration(0, 1), timestamp(2, 0));
  EXPECT_EQ(timestamp(1, 0) - timestamp(2, 1), duration(-1, -1));
  EXPECT_TRUE(duration(1, 0) < duration(1, 1));
  EXPECT_TRUE(timestamp(2, 0) > timestamp(1, 1));
  EXPECT_TRUE(duration(1, 0) <= duration(1, 0) && duration(1, 0) >= duration(1, 0) && duration(1, 0) != duration(0, 1));
  std::ostringstream text;
  text << duration(1, 0) << " " << timestamp(0, 0);
  EXPECT_EQ(text.str(), "1s 1970-01-01T00:00:00Z");
}

// The numbers are those that protobuf C++ 3.21 gives, one for each operation.
TEST(TimeUtil, ComputesTheSameOnManyValues) {
  std::mt19937_64 random(7);
  auto any = [&] {
    const int64_t seconds = static_cast<int64_t>(random() % 200000) - 100000;
    const auto nanos = static_cast<int32_t>(random() % 1000000000);
    return duration(seconds, seconds < 0 ? -nanos : nanos);
  };
  std::array<uint32_t, 8> digests{};
  auto add = [&](size_t operation, int64_t value) {
    digests[operation] = digests[operation] * 16777619u + static_cast<uint32_t>(value ^ (value >> 32));
  };
  auto add_duration = [&](size_t operation, const Duration& value) {
    add(operation, value.seconds());
    add(operation, value.nanos());
  };
  for (int i = 0; i < 10000; ++i) {
    const Duration a = any();
    const Duration b = any();
    const int64_t factor = static_cast<int64_t>(random() % 1000) - 500;
    add_duration(0, a + b);
    add_duration(1, a - b);
    add_duration(2, a * factor);
    if (factor != 0) add_duration(3, a / factor);
    if (TimeUtil::DurationToNanoseconds(b) != 0) {
      add(4, a / b);
      add_duration(5, a % b);
    }
    const double product = static_cast<double>(TimeUtil::DurationToNanoseconds(a * (static_cast<double>(factor) / 7)));
    EXPECT_NEAR(product, static_cast<double>(TimeUtil::DurationToNanoseconds(a)) * static_cast<double>(factor) / 7,
                2.0);
    const Timestamp t = TimeUtil::GetEpoch() + a;
    add(6, t.seconds());
    add(6, t.nanos());
    add(7, TimeUtil::DurationToMilliseconds(a) + TimeUtil::TimestampToMicroseconds(t));
  }
  EXPECT_THAT(digests, testing::ElementsAre(2842493207u, 2916455124u, 4249035769u, 1874181404u, 303243932u, 3469686464u,
                                            1380821107u, 3751497366u));
}

}  // namespace
