// WaitingCalls: the calls of one engine thread that wait for a host or for room, in order of arrival behind each
// route. A new call never overtakes a waiting one of its route.
// Thread-safety: none; one engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/base/pace.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

class WaitingCalls {
 public:
  uint32_t size() const { return size_; }
  // Whether any of them waits for room: a host serves its route.
  bool any_with_host() const;

  // Behind its route's other waiting calls.
  void push(CallState& state);
  // From anywhere in its route's queue.
  void remove(CallState& state);

  // Offers routes' calls in order to start(CallState&), until it refuses one (false); kRoutesPerTurn routes at most,
  // which take turns: a full host may have calls waiting at thousands. Ends at about `end_ns` (CLOCK_MONOTONIC): a host
  // that comes may find thousands that wait for it. A call that start() takes must have been removed by it. True if any
  // was taken.
  template <typename Start>
  bool serve(int64_t end_ns, Start start) {
    bool did = false;
    Pace pace;
    pace.run_until(end_ns);
    for (size_t left = std::min(routes_.size(), kRoutesPerTurn); left != 0 && !routes_.empty(); --left) {
      if (next_ >= routes_.size()) next_ = 0;
      Route* route = routes_[next_];
      while (route->first_waiting != nullptr) {
        if (!pace.go_on()) return ++next_, did;
        pace.spend(route->first_waiting->message_size / kBytesAUnit);
        if (!start(*route->first_waiting)) break;
        did = true;
      }
      // A route leaves the list with its last waiting call; then another one stands at its index.
      if (route->first_waiting != nullptr) ++next_;
    }
    return did;
  }
  static constexpr size_t kRoutesPerTurn = 64;

 private:
  static constexpr size_t kBytesAUnit = 2048;  // of parsing a request

  std::vector<Route*> routes_;  // that have waiting calls
  size_t next_ = 0;             // of them, to be served
  uint32_t size_ = 0;
};

}  // namespace drover::engine
