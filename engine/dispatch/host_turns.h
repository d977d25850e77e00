// How one engine thread shares its time between hosts: whatever one host asks, it costs the others a bounded time a
// turn.
//
//   each turn    every host that may have sent something earns kQuantumNs and is served while it has credit;
//                then one host that had more to do, a different one each time, gets kExtraNs
//   debt         time beyond the credit is paid back by the turns in which the host is passed over, so that over a few
//                turns all hosts have the same share, however large their single answers are
//
// A host that alone has work gets kQuantumNs + kExtraNs of each turn. Time is measured, from the eighth slot of a turn
// on or the first answer that takes long; less than that counts as kSlotNs a slot.
// Thread-safety: none; one engine thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/clock.h"

namespace drover::engine {

inline constexpr int64_t kQuantumNs = 100'000;
inline constexpr int64_t kExtraNs = 500'000;
inline constexpr int64_t kMostTurnNs = 2'000'000;  // no host is begun with after so much of a turn
inline constexpr int64_t kMostDebtNs = 20'000'000;
inline constexpr int64_t kSlotNs = 500;

// The time that one host may take now.
class TurnBudget {
 public:
  explicit TurnBudget(int64_t ns) : ns_(ns) {}

  // After a slot. `long_since_ns` is not 0: when its answer was found to take long. False: the time is over.
  bool go_on(int64_t long_since_ns = 0) {
    if (long_since_ns == 0 && ++slots_ % 8 != 0) [[likely]]
      return true;
    int64_t now = monotonic_ns();
    if (since_ns_ == 0) since_ns_ = (long_since_ns != 0 ? long_since_ns : now) - slots_ * kSlotNs;
    return now - since_ns_ < ns_;
  }
  // When it is over, CLOCK_MONOTONIC.
  int64_t end_ns() {
    if (since_ns_ == 0) since_ns_ = monotonic_ns() - slots_ * kSlotNs;
    return since_ns_ + ns_;
  }
  int64_t spent_ns() const { return since_ns_ == 0 ? slots_ * kSlotNs : monotonic_ns() - since_ns_; }

 private:
  const int64_t ns_;
  int64_t slots_ = 0;
  int64_t since_ns_ = 0;  // 0: the clock was not read yet
};

// What serving one host for a while came to.
struct Served {
  bool did = false;   // anything at all
  bool more = false;  // it has more to do at once
  int64_t spent_ns = 0;
};

class HostTurns {
 public:
  // One turn: calls serve(link, budget_ns) -> Served for the hosts whose turn it is. `Link` has waits_for_service() and
  // an int64_t credit_ns. `link`s must not come or go meanwhile. True if any did something or has more to do.
  template <typename Link, typename Serve>
  bool run(std::span<const std::unique_ptr<Link>> links, Serve serve) {
    const size_t count = links.size();
    bool did = false;
    int64_t spent = 0;
    size_t hungry = count;
    if (first_ >= count) first_ = 0;
    for (size_t n = 0, i = first_; n < count; ++n, i = i + 1 == count ? 0 : i + 1) {
      Link& link = *links[i];
      link.credit_ns = std::min(link.credit_ns + kQuantumNs, kQuantumNs);
      if (!link.waits_for_service()) continue;
      bool more = true;
      if (link.credit_ns > 0 && spent < kMostTurnNs) {
        Served served = serve(link, link.credit_ns);
        link.credit_ns = std::max(link.credit_ns - served.spent_ns, -kMostDebtNs);
        spent += served.spent_ns;
        did |= served.did;
        more = served.more;
      }
      if (more && hungry == count) hungry = i;
    }
    if (hungry == count) return did;
    serve(*links[hungry], kExtraNs);
    first_ = hungry + 1;
    return true;
  }

 private:
  size_t first_ = 0;
};

}  // namespace drover::engine
