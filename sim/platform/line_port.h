// A port (host/lines/port.h) of a simulated NIC: the program's operations take its core's time and reach the NIC as its
// interface has it. The engine makes one for each flow. Used by the one program that runs on the flow's core.
#pragma once

#include <cstdint>

#include "channel/channel_format.h"

namespace drover::sim {

class LinePort {
 public:
  virtual ~LinePort() = default;
  virtual bool try_push(const Slot& line) = 0;
  virtual bool has_room(uint32_t count) = 0;
  virtual bool try_pop(Slot& taken) = 0;
  virtual void flush() = 0;
  virtual void idle() = 0;
  virtual int64_t now_ns() = 0;
};

}  // namespace drover::sim
