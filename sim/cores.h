// The software codec on a SmartNIC's cores (BlueField-3): no RTL, so what they do to host memory is derived from the
// message, and what they compute is the CPU cost model's times cores.scale.
//
//   receive   field by field: each number, each String word, each string's bytes, each sub-message pointer is written
//   by
//             a DMA transfer of its own; one-shot: the object in chunks of 4 KB
//   send      nic-only: each object is read, and only then the strings that it refers to; memory-affinity: the
//             pre-serialized stream is read at once, and encoded
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cpu_cost.h"
#include "sim/host_images.h"

namespace drover::sim {

struct CoresStep {
  Time compute = 0;
  uint64_t written = 0, read = 0;  // bytes of the DMA transfer; at most one of them
  bool waits = false;              // the next step needs what came
};
struct CoresWork {
  std::vector<CoresStep> receive, send;
};
CoresWork cores_work_of(const System& system, const MessageWork& work, const PreparedMessage& message);

}  // namespace drover::sim
