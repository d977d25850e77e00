// The host's side of a NIC in RTL: the flows' rings in host memory, the NIC's soft configuration, and its port to host
// memory, joined to the coherent link and to PCIe. Every engine that has such a NIC has one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/engines/nic/coherent_bridge.h"
#include "sim/engines/nic/nic_options.h"
#include "sim/engines/nic/nic_port.h"
#include "sim/platform/axi_bridge.h"

namespace drover::sim {

class NicHostSide {
 public:
  // Adds its parts to the device, which has not been reset. `now` is the engine's time.
  // `window`: CallShape's.
  NicHostSide(const NicOptions& options, HostNode* host, rtl::NicDevice* nic, const Time* now, uint32_t window);

  // After the reset.
  void configure();
  std::unique_ptr<LinePort> open_flow(uint8_t flow, Core* core);
  // Before a cycle of the device: what is due by now, changes of the soft configuration among it.
  void advance();

  Figures figures() const;
  uint64_t violations() const;  // of the protocol, or bursts that left the memory

 private:
  void set(size_t address, uint64_t value);
  void change();

  const NicOptions& options_;
  HostNode& host_;
  const Time& now_;
  rtl::NicDevice& nic_;
  CoherentLink coherent_;
  AxiWriteBridge writes_;
  std::optional<AxiReadBridge> reads_;  // one of both, by the interface
  std::optional<CoherentReadBridge> coherent_reads_;
  const uint32_t window_;
  uint64_t flows_ = 0, changes_ = 0;
  uint64_t begun_anew_ = 0;  // TX rings of all flows
  Time next_change_ = 0;
};

}  // namespace drover::sim
