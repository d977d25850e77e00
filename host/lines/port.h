// A port: where lines leave a host thread for its engine, and where they come in. The client, the server and what a
// team writes on them are compiled against a port; which one decides what engine is behind it: rings in shared memory
// (RingPort), or a simulated NIC, where each of these calls also takes the simulated core's time (sim/calls/).
#pragma once

#include <concepts>
#include <cstdint>

#include "channel/ring.h"

namespace drover::lines {

// A port whose engine drops lines that find no room says how many it always has room for, `lines_kept() const`; a
// client begins no more calls than that. Responses of several lines, and several clients on one port, have to fit
// together: else give calls a time-out.
template <typename P>
concept Port = requires(P& port, const Slot& line, Slot& taken) {
  // Hands a line over; false: no room now, and nothing was done. It may stay unseen until flush().
  { port.try_push(line) } -> std::same_as<bool>;
  // Whether `count` lines can be pushed now.
  { port.has_room(uint32_t{}) } -> std::same_as<bool>;
  // The next line that came; false: none. `taken` is private to the caller.
  { port.try_pop(taken) } -> std::same_as<bool>;
  // The engine sees everything that was pushed.
  port.flush();
  // There was nothing to do: passes a moment, or sleeps until something comes.
  port.idle();
  // Nanoseconds of a clock that never goes back.
  { port.now_ns() } -> std::convertible_to<int64_t>;
};

}  // namespace drover::lines
