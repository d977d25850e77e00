// How many slots a link may have in flight, from the round-trip times and losses that it sees.
//
//   each round trip      window used, time near the least one:  doubled at first, then one datagram more
//                        time above the target:                 less, by how far it is above (at most half)
//                        a loss:                                half
//   nothing comes back   twice in a row:                        the least window, and the time-out doubles
//
//   now and then         one datagram for two round trips:      the link's own part of the queue drains
//
// Additive increase and multiplicative decrease make links that share a queue approach equal shares; the delay target
// keeps the queue short (as in Timely, SIGCOMM'15, and Swift, SIGCOMM'20, with a target instead of a gradient). A link
// that comes late takes the queue of others for a part of the way; once it has the larger share, the queue that drains
// is its own, and it learns the least time (as in LEDBAT++). Times are CLOCK_MONOTONIC. Thread-safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

namespace drover {

struct CongestionOptions {
  uint32_t most = 4096;        // slots
  uint32_t least = 22;         // slots: a datagram
  int64_t slack_ns = 500'000;  // above the least round-trip time: the target
  int64_t least_timeout_ns = 5'000'000;
  int64_t most_timeout_ns = 500'000'000;
};

class Congestion {
 public:
  explicit Congestion(const CongestionOptions& options = {})
      : options_(options), window_(std::min<double>(10.0 * options.least, options.most)), limit_(options.most) {}

  // Slots in flight at most.
  uint32_t window() const { return static_cast<uint32_t>(window_); }
  int64_t round_trip_ns() const { return smooth_ns_; }  // 0: not known yet
  int64_t least_ns() const { return least_ns_; }

  // `count` slots were acknowledged; `in_flight` with them. A sender that does not use its window does not enlarge it.
  void acknowledged(uint32_t count, uint32_t in_flight) {
    doublings_ = 0;
    if (drained_ns_ != 0 || in_flight * 2 < window()) return;
    window_ += window_ < limit_ ? count : options_.least * static_cast<double>(count) / window_;
    window_ = std::min<double>(window_, options_.most);
  }

  // Of a datagram that was sent once.
  void measured(int64_t ns, int64_t now_ns) {
    ns = std::max<int64_t>(ns, 1);
    if (smooth_ns_ == 0) {
      smooth_ns_ = ns;
      variance_ns_ = ns / 2;
    } else {
      variance_ns_ += (std::abs(ns - smooth_ns_) - variance_ns_) / 4;
      smooth_ns_ += (ns - smooth_ns_) / 8;
    }
    // The least time of this half minute and the one before, so that another path is noticed.
    if (now_ns - period_ns_ > kPeriodNs) {
      period_ns_ = now_ns;
      before_ns_ = this_ns_;
      this_ns_ = INT64_MAX;
    }
    this_ns_ = std::min(this_ns_, ns);
    least_ns_ = std::min(this_ns_, before_ns_);
    if (drain(now_ns)) return;
    const int64_t target = least_ns_ + std::max(options_.slack_ns, least_ns_ / 2);
    if (ns <= target || !once_a_round_trip(now_ns)) return;
    shrink(std::max(0.5, 1 - 0.8 * static_cast<double>(ns - target) / static_cast<double>(ns)));
  }

  // A datagram of `sent_ns` is lost.
  void lost(int64_t sent_ns, int64_t now_ns) {
    if (sent_ns < shrunk_ns_ || !once_a_round_trip(now_ns)) return;
    shrink(0.5);
  }

  // How long to wait for a sign of what was sent; doubles with each timed_out().
  int64_t timeout_ns() const {
    int64_t base = smooth_ns_ == 0 ? 20 * options_.least_timeout_ns : smooth_ns_ + 4 * variance_ns_;
    base = std::clamp(base, options_.least_timeout_ns, options_.most_timeout_ns);
    return std::min(base << std::min(doublings_, 10u), options_.most_timeout_ns);
  }
  void timed_out() {
    if (++doublings_ < 2) return;  // the first one only asks
    limit_ = std::max<double>(window_ / 2, options_.least);
    window_ = options_.least;
    drained_ns_ = 0;
  }
  uint32_t timeouts() const { return doublings_; }  // in a row

 private:
  static constexpr int64_t kPeriodNs = 30'000'000'000, kDrainPeriodNs = 1'000'000'000;

  // Whether the queue is draining.
  bool drain(int64_t now_ns) {
    if (drained_ns_ != 0) {
      if (now_ns < drained_ns_) return true;
      window_ = kept_;
      drained_ns_ = 0;
      shrunk_ns_ = last_drain_ns_ = now_ns;
      return false;
    }
    if (window_ < 4 * options_.least || now_ns - last_drain_ns_ < std::max(kDrainPeriodNs, 50 * smooth_ns_))
      return false;
    kept_ = window_;
    window_ = options_.least;
    drained_ns_ = now_ns + 2 * smooth_ns_;
    return true;
  }
  bool once_a_round_trip(int64_t now_ns) {
    if (now_ns - shrunk_ns_ < smooth_ns_) return false;
    shrunk_ns_ = now_ns;
    return true;
  }
  void shrink(double by) {
    double& window = drained_ns_ != 0 ? kept_ : window_;
    window = std::max<double>(window * by, options_.least);
    limit_ = window;
  }

  CongestionOptions options_;
  double window_;
  double limit_;  // below it the window doubles in a round trip
  int64_t smooth_ns_ = 0, variance_ns_ = 0;
  int64_t least_ns_ = INT64_MAX, this_ns_ = INT64_MAX, before_ns_ = INT64_MAX, period_ns_ = 0;
  int64_t shrunk_ns_ = INT64_MIN / 2;
  int64_t last_drain_ns_ = 0, drained_ns_ = 0;  // drained_ns_: until then; 0: not draining
  double kept_ = 0;                             // the window meanwhile
  uint32_t doublings_ = 0;
};

}  // namespace drover
