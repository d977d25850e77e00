#include "engine/grpc/connection_life.h"

#include <algorithm>
#include <random>

namespace drover::engine {
namespace {

// `ns` and up to a tenth more or less.
int64_t spread(int64_t ns) {
  static thread_local std::minstd_rand random{std::random_device()()};
  return ns + std::uniform_int_distribution<int64_t>(-ns / 10, ns / 10)(random);
}

int64_t after(int64_t now_ns, int64_t ns) { return ns <= INT64_MAX - now_ns ? now_ns + ns : INT64_MAX; }

}  // namespace

ConnectionLife::ConnectionLife(const TransportOptions& options, int64_t now_ns)
    : options_(options),
      old_at_ns_(options.max_age_ns > 0 ? after(now_ns, spread(options.max_age_ns)) : INT64_MAX),
      ends_at_ns_(old_at_ns_ != INT64_MAX && options.max_age_grace_ns > 0 ? after(old_at_ns_, options.max_age_grace_ns)
                                                                          : INT64_MAX),
      received_ns_(now_ns) {}

ConnectionLife::Due ConnectionLife::check(int64_t now_ns, int64_t idle_since_ns) {
  if (now_ns >= ends_at_ns_) return Due::kEnd;
  if (options_.keepalive_ns > 0) {
    if (pinged_ns_ != 0 && received_ns_ >= pinged_ns_) pinged_ns_ = 0;
    if (pinged_ns_ != 0 && now_ns - pinged_ns_ > options_.keepalive_timeout_ns) return Due::kGone;
    if (pinged_ns_ == 0 && now_ns - received_ns_ > options_.keepalive_ns) {
      pinged_ns_ = now_ns;
      return Due::kPing;
    }
  }
  if (drained_) return Due::kNothing;
  const bool idle_too_long =
      options_.idle_timeout_ns > 0 && idle_since_ns != 0 && now_ns - idle_since_ns > options_.idle_timeout_ns;
  drained_ = now_ns >= old_at_ns_ || idle_too_long;
  return drained_ ? Due::kDrain : Due::kNothing;
}

}  // namespace drover::engine
