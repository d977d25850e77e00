// WaitingCalls: the calls of one engine thread that wait for a host or for room.
//
//   route --+-- line (of a connection) -- call -- call         each line in order of arrival
//           +-- line (of a connection) -- call
//
// The connections that wait at a route take turns, a call each. A call that waits for memory, since it is large or its
// client holds much, holds up its own line only; a large one may wait long where others' small ones are many. A call
// that waits for a host, or for a slot, holds up the route. A new call overtakes no other one of its connection, and
// none that waits for a host or a slot. Thread-safety: none; one engine thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "engine/base/pace.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

// The waiting calls of one connection at one route.
struct WaitingLine {
  CallState* first = nullptr;
  CallState* last = nullptr;
  WaitingLine* next = nullptr;  // of the route
  WaitingLine* previous = nullptr;
};

class WaitingCalls {
 public:
  uint32_t size() const { return size_; }
  // Whether any of them waits for room: a host serves its route.
  bool any_with_host() const;

  // Whether a new call may be offered to a host at once; false: it is to be pushed.
  bool may_start(const CallState& state) const {
    return state.route->waiting == nullptr || (!state.route->slots_wait && !lines_.contains(key_of(state)));
  }
  // Behind the other waiting calls of its connection at its route. Throws std::bad_alloc; then nothing has changed.
  void push(CallState& state);
  // From anywhere in its line.
  void remove(CallState& state);

  // What became of a call that was offered.
  enum class Offered : uint8_t {
    kTaken,
    kNoMemory,  // for this one; others of the route may start
    kNoSlot,    // or no host: no call of the route can start
  };
  // Offers calls to start(CallState&) -> Offered, until kMostRefused times a call of a route found no memory.
  // kRoutesPerTurn routes at most, which take turns: a full host may have calls waiting at thousands. Ends at about
  // `end_ns` (CLOCK_MONOTONIC): a host that comes may find thousands that wait for it. A call that start() takes must
  // have been removed by it. True if any was taken.
  template <typename Start>
  bool serve(int64_t end_ns, Start start) {
    bool did = false;
    Pace pace;
    pace.run_until(end_ns);
    for (size_t left = std::min(routes_.size(), kRoutesPerTurn); left != 0 && !routes_.empty(); --left) {
      if (next_ >= routes_.size()) next_ = 0;
      Route* route = routes_[next_];
      for (uint32_t refused = 0, in_a_row = 0; refused < kMostRefused && in_a_row < route->waiting_lines;) {
        if (!pace.go_on()) return ++next_, did;
        const WaitingLine* line = route->waiting;
        CallState& state = *line->first;
        const size_t units = state.message_size / kBytesAUnit;
        const uint32_t wanted = state.wanted_chunks;
        const Offered offered = start(state);
        const bool taken = offered == Offered::kTaken;
        if (taken || state.wanted_chunks != wanted) pace.spend(units);  // it was parsed
        did |= taken;
        route->slots_wait = offered == Offered::kNoSlot;
        if (route->slots_wait) break;
        refused += !taken;
        in_a_row = taken ? 0 : in_a_row + 1;
        if (route->waiting == line) route->waiting = line->next;
      }
      // A route leaves the list with its last waiting call; then another one stands at its index.
      if (route->waiting != nullptr) ++next_;
    }
    return did;
  }
  static constexpr size_t kRoutesPerTurn = 64;

 private:
  static constexpr size_t kBytesAUnit = 2048;  // of parsing a request
  static constexpr uint32_t kMostRefused = 64;

  struct Key {
    const Route* route;
    const Account* payer;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.route) * 31 + std::hash<const void*>()(key.payer);
    }
  };
  static Key key_of(const CallState& state) { return {state.route, state.payer}; }

  std::unordered_map<Key, WaitingLine, KeyHash> lines_;
  std::vector<Route*> routes_;  // that have waiting calls
  size_t next_ = 0;             // of them, to be served
  uint32_t size_ = 0;
};

}  // namespace drover::engine
