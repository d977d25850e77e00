// An engine in a run of calls: the NIC of one simulated host. Programs on the host's cores reach it through a port for
// each flow, and it reaches other hosts through the run's network. An engine of this kind has a room of its own under
// sim/engines/ like those of message runs (engine.h), and is registered in the same list (EngineType::make_for_calls).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/platform/coherent_link.h"
#include "sim/platform/core.h"
#include "sim/platform/line_port.h"
#include "sim/platform/link.h"
#include "sim/platform/timeline.h"

namespace drover::sim {

// A line on its way between two NICs.
struct NetworkLine {
  LineSlot line;
  uint8_t flow = 0;  // of the connection at the NIC that sends it
};

// What a simulated host brings to its engine; all of it outlives the engine.
class HostNode {
 public:
  HostNode(Timeline* timeline, const LinkConfig& link, const CoherentConfig& coherent, const CoreOptions& cores,
           Endpoint* endpoint, uint64_t memory_bytes)
      : timeline_(*timeline),
        link_(link),
        coherent_(coherent),
        cores_(cores),
        endpoint_(*endpoint),
        memory_(memory_bytes / sizeof(Slot)) {}

  Timeline& timeline() { return timeline_; }
  Link& link() { return link_; }  // PCIe: MMIO towards the NIC, DMA both ways
  const Link& link() const { return link_; }
  const CoherentConfig& coherent() const { return coherent_; }
  Endpoint& endpoint() { return endpoint_; }
  const CoreOptions& cores() const { return cores_; }
  std::span<char> memory() { return {reinterpret_cast<char*>(memory_.data()), memory_.size() * sizeof(Slot)}; }
  // Zeroed memory of the host's, aligned to 4 KB; its offset. The run sizes the memory by EngineType::host_memory.
  uint64_t allocate(uint64_t bytes) { return std::exchange(used_, used_ + ((bytes + 4095) & ~uint64_t{4095})); }

 private:
  Timeline& timeline_;
  Link link_;
  CoherentConfig coherent_;
  CoreOptions cores_;
  Endpoint& endpoint_;
  std::vector<Slot> memory_;
  uint64_t used_ = 0;
};

// A named figure of an engine: counters, stalls.
using Figures = std::vector<std::pair<std::string, uint64_t>>;

class CallEngine {
 public:
  virtual ~CallEngine() = default;
  // Of its clock, in picoseconds.
  virtual Time period() const = 0;
  // A rising edge.
  virtual void tick() = 0;

  // A port for the program on `core`. Takes no simulated time.
  virtual std::unique_ptr<LinePort> open_flow(uint8_t flow, Core* core) = 0;
  // Lines of the connection come to this flow, by this host's balance policy.
  virtual void connect(uint16_t connection, uint8_t flow) = 0;

  // Called for each line that leaves for the network.
  virtual void on_line(std::function<void(const NetworkLine&)> sent) = 0;
  // A line came for this host. `taken` hears whether the NIC took it.
  virtual void deliver(const LineSlot& line, std::function<void(bool)> taken) = 0;

  virtual Figures figures() const = 0;
  // Empty; or what a port of the engine did against its protocol.
  virtual std::string violation() const { return ""; }
};

}  // namespace drover::sim
