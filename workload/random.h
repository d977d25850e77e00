// The workload's own generator of pseudo-random numbers: the same seed gives the same numbers with every compiler,
// library and machine, which std::'s distributions do not promise. Integers only, for the same reason.
//
// A counter that is stepped by a constant and mixed by two multiplications (the splitmix64 construction: Steele, Lea,
// Flood, OOPSLA 2014). Not for secrets. Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace drover::workload {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() { return mix(state_ += kStep); }
  // Uniform in [0, limit); 0 for a limit of 0. (The bias is below limit / 2^64.)
  uint64_t below(uint64_t limit) { return multiply_high(next(), limit); }
  // Uniform in [low, high].
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  size_t index(size_t size) { return static_cast<size_t>(below(size)); }
  // True `permille` times of a thousand.
  bool chance(uint32_t permille) { return below(1000) < permille; }
  // A generator of its own for part `stream` of the work: what one part draws does not move the others.
  Random fork(uint64_t stream) const { return Random(mix(state_ ^ mix(stream + kStep))); }

  template <typename T>
  void shuffle(std::vector<T>* items) {
    for (size_t i = items->size(); i > 1; --i) std::swap((*items)[i - 1], (*items)[index(i)]);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  static uint64_t multiply_high(uint64_t a, uint64_t b) {
    uint64_t low = (a & 0xffffffff) * (b & 0xffffffff);
    uint64_t middle = (a >> 32) * (b & 0xffffffff) + (low >> 32);
    uint64_t other = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
  }

  uint64_t state_;
};

// Draws index i with a chance of weights[i] of their sum; 0 if all are zero.
inline size_t draw(Random& random, const uint32_t* weights, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += weights[i];
  uint64_t at = random.below(sum);
  for (size_t i = 0; i < count; ++i) {
    if (at < weights[i]) return i;
    at -= weights[i];
  }
  return 0;
}

}  // namespace drover::workload
