// A verilated NIC as its host sees it: stores, loads, and its port to host memory, which is the caller's to join. What
// it has towards the network is its own (rtl/model/nic.h: the host half alone; rtl/model/drover_nic.h: the whole).
//
// Addresses of stores and loads are offsets in the NIC's address space (rtl/nic/nic.toml). Thread-safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "rtl/driver/nic_host.h"
#include "rtl/model/axi_memory.h"
#include "rtl/model/simulation.h"

namespace drover::rtl {

using NicFrame = std::vector<std::byte>;

struct NicConfig {
  TxInterface tx_interface = TxInterface::kCoherent;
  bool synchronous = false;  // threading
  bool joined = false;  // of its halves (joined_nic.h), also where there is a model of the whole; tests compare them
  PowerUp power_up = {};
  Stall store_stall = {};  // holds back the stores' addresses and data, each for itself
  Stall answer_stall = {};
  Stall line_stall = {};  // the network takes nothing
};

class NicDevice {
 public:
  // Of the verilated models.
  static constexpr uint32_t kFlows = 16, kFlowLines = 32;

  virtual ~NicDevice() = default;

  virtual AxiReadPort read_port() = 0;
  virtual AxiWritePort write_port() = 0;
  // Beside the read port's address: the read may be served by the NIC's coherent cache.
  virtual const CData* read_cached() = 0;
  // A part at the ports; before the first reset(). It sees a cycle before this object's own parts do.
  virtual void add(Part* part) = 0;
  virtual void reset() = 0;
  virtual void cycle() = 0;
  virtual uint64_t cycles() const = 0;

  // Stores take effect in their order; `size` is 1 to 64 bytes that do not cross 64.
  virtual void store(uint32_t address, const void* bytes, size_t size) = 0;
  void store64(uint32_t address, uint64_t value) { store(address, &value, sizeof value); }
  virtual bool stores_done() const = 0;
  virtual uint64_t stores_refused() const = 0;  // answered with an error
  // Calls `done` with the 64 bits there, some cycles later. After stores that are not done it may overtake them.
  virtual void load64(uint32_t address, std::function<void(uint64_t)> done) = 0;
  // The same, cycling until the answer is there.
  uint64_t load64_now(uint32_t address);

  // The host took or wrote a line that the NIC's coherent cache holds, or the cache gave it up.
  virtual void snoop(uint64_t address) = 0;
};

}  // namespace drover::rtl
