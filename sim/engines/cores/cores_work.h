// The work of the software codec on a SmartNIC's cores (BlueField-3) for a message. There is no RTL: the DMA transfers
// are derived from the message, and computing takes the CPU cost model's time, times cores.scale.
//
//   receive   field by field: each number, each String word, each string's bytes and each sub-message pointer is
//             written by a DMA transfer of its own; one-shot: the object in chunks of 4 KB
//   send      nic-only: each object is read, and only then the strings that it refers to; memory-affinity: the
//             pre-serialized stream is read at once, and encoded
#pragma once

#include <cstdint>
#include <vector>

#include "sim/platform/cpu_cost.h"
#include "sim/platform/host_images.h"
#include "sim/platform/options.h"

namespace drover::sim {

struct CoresCosts {
  double scale = 2;  // the codec's costs on these cores, times this
  double dma = 100;  // ns of a core to start one DMA transfer
};

struct CoresStep {
  Time compute = 0;
  uint64_t written = 0, read = 0;  // bytes of the DMA transfer; at most one of them
  bool waits = false;              // the next step needs this transfer's bytes
};
struct CoresWork {
  std::vector<CoresStep> receive, send;
};
CoresWork cores_work_of(const PlatformOptions& options, const CoresCosts& costs, const MessageWork& work,
                        const PreparedMessage& message);

}  // namespace drover::sim
