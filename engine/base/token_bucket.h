// TokenBucket: events, or an amount of work, a second. Thread-safety: none.
#pragma once

#include <cstdint>

namespace drover::engine {

// Spends tokens; refills at `rate` a second up to `burst`.
class TokenBucket {
 public:
  TokenBucket(double rate, double burst, int64_t now_ns) : TokenBucket(rate, burst, now_ns, burst) {}
  // Begins with `tokens`.
  TokenBucket(double rate, double burst, int64_t now_ns, double tokens)
      : rate_(rate), burst_(burst), tokens_(tokens), last_ns_(now_ns) {}
  // False: there are not so many; none is spent. `tokens` is at most the burst.
  bool spend(int64_t now_ns, double tokens = 1) {
    if (tokens_ < tokens) {
      tokens_ += static_cast<double>(now_ns - last_ns_) * rate_ / 1e9;
      if (tokens_ > burst_) tokens_ = burst_;
      last_ns_ = now_ns;
      if (tokens_ < tokens) return false;
    }
    tokens_ -= tokens;
    return true;
  }

  // What was spent came to nothing.
  void give_back(double tokens = 1) { tokens_ += tokens; }

 private:
  double rate_;
  double burst_;
  double tokens_;
  int64_t last_ns_;  // of the last refill
};

}  // namespace drover::engine
