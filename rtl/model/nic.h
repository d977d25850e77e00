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
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "channel/layout.h"
#include "rtl/model/nic_device.h"

namespace drover::rtl {

// A line between the NIC and the network.
struct NicLine {
  LineSlot line;
  uint8_t flow = 0;                                       // it came from; to the NIC: the connection's
  BalancePolicy policy = BalancePolicy::kConnectionFlow;  // to the NIC only
};

class Nic : public NicDevice {
 public:
  static std::unique_ptr<Nic> make(const NicConfig& config);

  // Called for each line that the NIC sends.
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
