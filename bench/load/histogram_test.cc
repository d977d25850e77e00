// Percentiles against a sorted list of the same values, and the edges of the buckets.

#include "bench/load/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace drover::bench {
namespace {

TEST(Histogram, IsEmptyAtFirst) {
  Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(0.99), 0u);
  EXPECT_EQ(histogram.max(), 0u);
}

TEST(Histogram, KeepsSmallValuesExactly) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.record(value);
  EXPECT_EQ(histogram.percentile(0.50), 50u);
  EXPECT_EQ(histogram.percentile(0.99), 99u);
  EXPECT_EQ(histogram.percentile(1.0), 100u);
  EXPECT_EQ(histogram.percentile(0.0), 1u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
}

TEST(Histogram, ReportsASingleValueOfAnySizeWithinOneSixtyFourth) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, (uint64_t{1} << bit) | 1}) {
      Histogram histogram;
      histogram.record(value);
      histogram.record(UINT64_MAX);
      const uint64_t reported = histogram.percentile(0.5);
      EXPECT_GE(reported, value);
      EXPECT_LE(static_cast<double>(reported), static_cast<double>(value) * (1 + 1.0 / 64));
    }
  }
}

TEST(Histogram, AgreesWithASortedListOfRandomValues) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latencies(12, 1.5);
  Histogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<uint64_t>(latencies(random)));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const size_t rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(values.size())));
    const double truth = static_cast<double>(values[rank - 1]);
    EXPECT_GE(static_cast<double>(histogram.percentile(fraction)), truth);
    EXPECT_LE(static_cast<double>(histogram.percentile(fraction)), truth * (1 + 1.0 / 64) + 1);
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, StartsAfreshWhenCleared) {
  Histogram histogram;
  histogram.record(5000);
  histogram.clear();
  histogram.record(3);
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(histogram.percentile(1.0), 3u);
}

}  // namespace
}  // namespace drover::bench
