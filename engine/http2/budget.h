// What a peer may make a connection hold and do. Everything that a session stores or queues on a peer's behalf is
// charged here; what would pass a limit is refused, and a peer that goes on ends the connection (ENHANCE_YOUR_CALM).
//
// Bytes: held while something lives. Events: frames that carry no call, and streams that end early, a second.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover::engine::http2 {

// Spends one token an event; refills at `rate` a second up to `burst`.
class TokenBucket {
 public:
  TokenBucket(uint32_t rate, uint32_t burst, int64_t now_ns)
      : rate_(rate), burst_(burst), tokens_(burst), last_ns_(now_ns) {}
  // False: no token is left.
  bool spend(int64_t now_ns) {
    if (tokens_ < 1) {
      tokens_ += static_cast<double>(now_ns - last_ns_) * rate_ / 1e9;
      if (tokens_ > burst_) tokens_ = burst_;
      last_ns_ = now_ns;
      if (tokens_ < 1) return false;
    }
    tokens_ -= 1;
    return true;
  }

 private:
  double rate_;
  double burst_;
  double tokens_;
  int64_t last_ns_;  // of the last refill
};

// Bytes of one kind, with a limit.
class ByteBudget {
 public:
  explicit ByteBudget(size_t limit) : limit_(limit) {}
  bool fits(size_t bytes) const { return held_ <= limit_ && bytes <= limit_ - held_; }
  // Charges even past the limit: the caller has asked, or ends the connection.
  void charge(size_t bytes) { held_ += bytes; }
  void release(size_t bytes) { held_ -= bytes; }
  size_t held() const { return held_; }
  bool over() const { return held_ > limit_; }

 private:
  const size_t limit_;
  size_t held_ = 0;
};

}  // namespace drover::engine::http2
