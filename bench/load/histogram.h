// A histogram of latencies over the whole range of 64 bits with a bounded relative error: values under 128 have a
// bucket each, and every further octave is cut into 64 buckets, so that a reported percentile is at most 1/64 above
// the truth. Recording is an increment of one counter. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drover::bench {

class Histogram {
 public:
  Histogram();

  void record(uint64_t value);
  void clear();

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  // The smallest value that at least `fraction` (0..1) of the recorded values do not exceed, rounded up to the end of
  // its bucket, but never above max(). 0 when nothing was recorded.
  uint64_t percentile(double fraction) const;

 private:
  static size_t bucket_of(uint64_t value);
  static uint64_t last_value_in(size_t bucket);

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace drover::bench
