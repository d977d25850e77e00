// How often a client may send PINGs: gRPC's rule for keep-alive (proposal A8).
//
// A PING is a strike if it comes sooner than `min_interval_ns` after the one before, or than two hours where the client
// has no call and may not ping without. The first one is free, and so is one before which the server has sent HEADERS,
// DATA or WINDOW_UPDATE since the last: clients that measure the bandwidth ping then. Strikes in a row beyond
// `max_strikes` end the connection.
#pragma once

#include <cstdint>

namespace drover::engine::http2 {

struct PingLimits {
  int64_t min_interval_ns = 300'000'000'000;
  bool without_calls = false;
  uint32_t max_strikes = 0;  // 0: PINGs are not counted
};

class PingPolicy {
 public:
  explicit PingPolicy(const PingLimits& limits) : limits_(limits) {}

  // A PING comes at `now_ns`; the session has sent `sent` frames of the kinds above, and has calls. False: too many.
  bool take(int64_t now_ns, uint64_t sent, bool has_calls) {
    if (limits_.max_strikes == 0) return true;
    const int64_t interval = has_calls || limits_.without_calls ? limits_.min_interval_ns : kWithoutCallsNs;
    if (first_ || sent != sent_) {
      strikes_ = 0;
    } else if (now_ns - last_ns_ < interval && ++strikes_ > limits_.max_strikes) {
      return false;
    }
    first_ = false;
    sent_ = sent;
    last_ns_ = now_ns;
    return true;
  }

 private:
  static constexpr int64_t kWithoutCallsNs = int64_t{7'200} * 1'000'000'000;

  PingLimits limits_;
  bool first_ = true;
  uint32_t strikes_ = 0;
  uint64_t sent_ = 0;
  int64_t last_ns_ = 0;
};

}  // namespace drover::engine::http2
