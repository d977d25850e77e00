#include "engine/dispatch/waiting_calls.h"

#include <algorithm>

#include "engine/base/heap.h"

namespace drover::engine {

bool WaitingCalls::any_with_host() const {
  return std::any_of(routes_.begin(), routes_.end(), [](const Route* route) { return !route->targets.empty(); });
}

void WaitingCalls::push(CallState& state) {
  Route& route = *state.route;
  heap::reserve(routes_, routes_.size() + 1);
  WaitingLine& line = lines_[key_of(state)];
  if (line.first == nullptr) {
    if (route.waiting == nullptr) {
      route.index_waiting = routes_.size();
      routes_.push_back(&route);
      route.waiting = line.next = line.previous = &line;
    } else {  // the last to have its turn
      line.next = route.waiting;
      line.previous = route.waiting->previous;
      line.previous->next = line.next->previous = &line;
    }
    ++route.waiting_lines;
    if (state.wanted_chunks == 0) route.slots_wait = true;  // as far as is known
  }
  state.next_waiting = nullptr;
  state.previous_waiting = line.last;
  (line.last != nullptr ? line.last->next_waiting : line.first) = &state;
  line.last = &state;
  ++size_;
}

void WaitingCalls::remove(CallState& state) {
  Route& route = *state.route;
  const auto at = lines_.find(key_of(state));
  WaitingLine& line = at->second;
  (state.previous_waiting != nullptr ? state.previous_waiting->next_waiting : line.first) = state.next_waiting;
  (state.next_waiting != nullptr ? state.next_waiting->previous_waiting : line.last) = state.previous_waiting;
  state.next_waiting = state.previous_waiting = nullptr;
  --size_;
  if (line.first != nullptr) return;
  line.previous->next = line.next;
  line.next->previous = line.previous;
  if (route.waiting == &line) route.waiting = line.next;
  if (--route.waiting_lines == 0) {
    route.waiting = nullptr;
    route.slots_wait = false;
    routes_.back()->index_waiting = route.index_waiting;
    routes_[route.index_waiting] = routes_.back();
    routes_.pop_back();
  }
  lines_.erase(at);
}

}  // namespace drover::engine
