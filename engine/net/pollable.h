// The interfaces that an engine thread's event loop calls besides its sockets: work through shared memory (the
// dispatcher), and work at the end of each turn (the transport).
#pragma once

#include <cstdint>

namespace drover::engine {

class Pollable {
 public:
  // Takes everything that hosts have sent, rings doorbells for what was pushed, fires timers that are due.
  // Returns true if it did something. `now_ns` is CLOCK_MONOTONIC, read once per loop.
  virtual bool poll(int64_t now_ns) = 0;
  // Called before the loop sleeps: announces that it will. True if work came in meanwhile: the loop must not sleep.
  virtual bool prepare_to_sleep() = 0;
  virtual void woke_up() = 0;
  // wake_fd was signalled.
  virtual void rung() = 0;
  // When poll must be called again at the latest (CLOCK_MONOTONIC); kNoDeadline: no such time.
  virtual int64_t next_timer_ns() const = 0;
  // The descriptor that hosts signal. Each ring is an edge: register it edge-triggered and never read it.
  virtual int wake_fd() const = 0;

 protected:
  ~Pollable() = default;
};

// What must be done once at the end of each turn (the transport: send what was queued).
class TurnEnd {
 public:
  // Returns true if it must be called again without sleeping.
  virtual bool end_turn(int64_t now_ns) = 0;
  // When end_turn must be called at the latest; kNoDeadline: no such time.
  virtual int64_t next_turn_ns() const = 0;

 protected:
  ~TurnEnd() = default;
};

}  // namespace drover::engine
