// WaitingCalls: the calls of one engine thread that wait for a host or for room, in order of arrival behind each
// route. A new call never overtakes a waiting one of its route.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <vector>

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

  // Offers each route's calls in order to start(CallState&), until it refuses one (false). A call that start() takes
  // must have been removed by it. True if any was taken.
  template <typename Start>
  bool serve(Start start) {
    bool did = false;
    // A route leaves the list with its last waiting call; then the next one stands at its index.
    for (size_t i = 0; i < routes_.size();) {
      Route* route = routes_[i];
      while (route->first_waiting != nullptr) {
        if (!start(*route->first_waiting)) break;
        did = true;
      }
      if (route->first_waiting != nullptr) ++i;
    }
    return did;
  }

 private:
  std::vector<Route*> routes_;  // that have waiting calls
  uint32_t size_ = 0;
};

}  // namespace drover::engine
