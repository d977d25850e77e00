#include "sim/platform/units.h"

#include <gtest/gtest.h>

namespace drover::sim {
namespace {

TEST(Units, TimesAreExactPicoseconds) {
  Time time = 0;
  EXPECT_TRUE(parse_time("70ns", &time));
  EXPECT_EQ(time, 70'000u);
  EXPECT_TRUE(parse_time("1.25us", &time));
  EXPECT_EQ(time, 1'250'000u);
  EXPECT_EQ(format_time(time), "1250ns");
  EXPECT_TRUE(parse_time("500 ps", &time));
  EXPECT_EQ(format_time(time), "500ps");
}

TEST(Units, FiguresWithoutTheirUnitAreNone) {
  Time time = 7;
  for (const char* text : {"", "70", "ns", "-1ns", "70 n s", "70GB/s", "1e400ns", "nanns"}) {
    EXPECT_FALSE(parse_time(text, &time)) << text;
  }
  EXPECT_EQ(time, 7u);
  uint64_t hertz = 0;
  EXPECT_FALSE(parse_frequency("0MHz", &hertz));
  EXPECT_TRUE(parse_frequency("2GHz", &hertz));
  EXPECT_EQ(hertz, 2'000'000'000u);
  double bandwidth = 0;
  EXPECT_TRUE(parse_bandwidth("12.8GB/s", &bandwidth));
  EXPECT_DOUBLE_EQ(bandwidth, 12.8e9);
  EXPECT_EQ(format_bandwidth(bandwidth), "12.8GB/s");
  EXPECT_FALSE(parse_bandwidth("0GB/s", &bandwidth));
}

}  // namespace
}  // namespace drover::sim
