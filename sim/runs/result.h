// The figures of a run, message by message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/platform/transfer.h"

namespace drover::sim {

// Crosses a pipe byte for byte.
struct MessageResult {
  uint32_t message = 0;  // in the workload
  Leg receive, send;
};

struct RunResult {
  std::vector<MessageResult> messages;   // in the order of the workload, `repeat` times
  Time receive_time = 0, send_time = 0;  // of all together
  std::string error;
  bool ok() const { return error.empty(); }
};

}  // namespace drover::sim
