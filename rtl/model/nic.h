// The verilated NIC (rtl/nic/nic_host.sv) as an object: the host's stores and loads are here; its port to host memory
// and the line streams to the network are the caller's to join.
//
//                           +-----+  read_port(), write_port()    AXI4
//   store(), load() ------> |     | ==================================> host memory
//   snoop() --------------> | NIC |
//                           |     |  on_line()
//   lines from others ----> |     | ----------------------------------> network
//     offer()               +-----+
//
//   auto nic = Nic::make({.tx_interface = TxInterface::kCoherent});
//   AxiReadMemory reads(nic->read_port(), bytes); nic->add(&reads); ...
//   nic->reset();
//   nic->store64(address, value); while (!nic->stores_done()) nic->cycle();
//
// Addresses of stores and loads are offsets in the NIC's address space (rtl/nic/nic.toml). Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>

#include "channel/layout.h"
#include "rtl/driver/nic_host.h"
#include "rtl/model/axi_memory.h"
#include "rtl/model/simulation.h"

namespace drover::rtl {

struct NicConfig {
  TxInterface tx_interface = TxInterface::kCoherent;
  bool synchronous = false;  // built for coherent alone
  PowerUp power_up = {};
  Stall store_stall = {};  // holds back the stores' addresses and data, each for itself
  Stall answer_stall = {};
  Stall line_stall = {};  // the network takes no line
};

// A line between the NIC and the network.
struct NicLine {
  LineSlot line;
  uint8_t flow = 0;                                       // it came from; to the NIC: the connection's
  BalancePolicy policy = BalancePolicy::kConnectionFlow;  // to the NIC only
};

class Nic {
 public:
  // Of the verilated models.
  static constexpr uint32_t kFlows = 16, kFlowLines = 32;

  static std::unique_ptr<Nic> make(const NicConfig& config);
  virtual ~Nic() = default;

  virtual AxiReadPort read_port() = 0;
  virtual AxiWritePort write_port() = 0;
  // Beside the read port's address: the read may be served by the NIC's coherent cache.
  virtual const CData* read_cached() = 0;
  // A part at the ports; before the first reset(). It sees a cycle before this object's own parts do.
  virtual void add(Part* part) = 0;
  virtual void reset() = 0;
  virtual void cycle() = 0;
  virtual uint64_t cycles() const = 0;

  // ---- the host. Stores take effect in their order; `size` is 1 to 64 bytes that do not cross 64.
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

  // ---- the network. Called for each line that the NIC sends.
  virtual void on_line(std::function<void(const NicLine&)> callback) = 0;
  // Flows (a bit each) of which the network takes lines; all at first.
  virtual void allow(uint64_t flows) = 0;
  // A line for the NIC, in the order of the calls; `taken` hears whether the NIC took it or refused it.
  virtual void offer(const NicLine& line, std::function<void(bool)> taken = {}) = 0;
  virtual size_t offered() const = 0;  // and not yet taken or refused
  // The network half's registers, 64 bits: a write, or a read that returns them. Without: they read zero.
  virtual void on_register(std::function<uint64_t(bool write, uint16_t address, uint64_t value)> callback) = 0;
};

}  // namespace drover::rtl
