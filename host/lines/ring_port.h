// RingPort: a port on a pair of rings whose other ends poll. flush() has nothing to do: a pushed slot is visible.
// Thread-safety: one thread. Lifetime: the rings' memory outlives the port.
#pragma once

#include <time.h>

#include "channel/doorbell.h"
#include "host/lines/port.h"

namespace drover::lines {

class RingPort {
 public:
  RingPort(RingProducer out, RingConsumer in) : out_(out), in_(in) {}

  bool try_push(const Slot& line) { return out_.try_push(line) == PushResult::kOk; }
  bool has_room(uint32_t count) { return out_.room(count) >= count; }
  bool try_pop(Slot& taken) { return in_.try_pop(taken); }
  void flush() {}
  void idle() { cpu_relax(); }
  int64_t now_ns() const {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  }

 private:
  RingProducer out_;
  RingConsumer in_;
};

}  // namespace drover::lines
