#include "engine/dispatch/waiting_calls.h"

#include <algorithm>

namespace drover::engine {

bool WaitingCalls::any_with_host() const {
  return std::any_of(routes_.begin(), routes_.end(), [](const Route* route) { return !route->targets.empty(); });
}

void WaitingCalls::push(CallState& state) {
  Route& route = *state.route;
  if (route.first_waiting == nullptr) {
    route.index_waiting = routes_.size();
    routes_.push_back(&route);
  }
  state.next_waiting = nullptr;
  state.previous_waiting = route.last_waiting;
  (route.last_waiting != nullptr ? route.last_waiting->next_waiting : route.first_waiting) = &state;
  route.last_waiting = &state;
  ++size_;
}

void WaitingCalls::remove(CallState& state) {
  Route& route = *state.route;
  (state.previous_waiting != nullptr ? state.previous_waiting->next_waiting : route.first_waiting) = state.next_waiting;
  (state.next_waiting != nullptr ? state.next_waiting->previous_waiting : route.last_waiting) = state.previous_waiting;
  state.next_waiting = state.previous_waiting = nullptr;
  --size_;
  if (route.first_waiting != nullptr) return;
  routes_.back()->index_waiting = route.index_waiting;
  routes_[route.index_waiting] = routes_.back();
  routes_.pop_back();
}

}  // namespace drover::engine
