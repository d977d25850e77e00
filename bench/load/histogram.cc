// Bucket arithmetic: a value v >= 128 with its top bit at position b lies in octave b - 6, whose 64 buckets are
// v >> (b - 6) in 64..127. Octave 0 holds 0..127 exactly, at indices 0..127; octave o >= 1 begins at 64 + 64 * o.

#include "bench/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace drover::bench {
namespace {

constexpr size_t kExact = 128;
constexpr size_t kPerOctave = 64;
constexpr int kOctaveBits = 6;
constexpr size_t kBuckets = kExact + kPerOctave * (64 - 1 - kOctaveBits);

}  // namespace

Histogram::Histogram() : buckets_(kBuckets) {}

size_t Histogram::bucket_of(uint64_t value) {
  if (value < kExact) return value;
  const size_t octave = static_cast<size_t>(std::bit_width(value)) - 1 - kOctaveBits;
  return kPerOctave * octave + (value >> octave);
}

uint64_t Histogram::last_value_in(size_t bucket) {
  if (bucket < kExact) return bucket;
  const size_t octave = bucket / kPerOctave - 1;
  const uint64_t first = (bucket - kPerOctave * octave) << octave;
  return first + ((uint64_t{1} << octave) - 1);
}

void Histogram::record(uint64_t value) {
  ++buckets_[bucket_of(value)];
  ++count_;
  sum_ += static_cast<double>(value);
  max_ = std::max(max_, value);
}

void Histogram::clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  max_ = 0;
  sum_ = 0;
}

uint64_t Histogram::percentile(double fraction) const {
  if (count_ == 0) return 0;
  const double exact_rank = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(exact_rank));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) return std::min(last_value_in(bucket), max_);
  }
  return max_;
}

}  // namespace drover::bench
