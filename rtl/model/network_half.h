// The NIC's network half (rtl/nic/nic_net.sv, the reliable transport) alone, verilated, as an object: for engines that
// have something of their own between it and the host half (rtl/model/nic.h).
//
//              +---------+  on_frame(), receive()
//   send() --> |         | <=====================> network
//              | nic_net |
//   on_line()  |         |  table_read_port(), table_write_port()    AXI4
//   <--------- |         | =====================================> connection table
//              +---------+
//
// Lines keep their order in a flow. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "channel/layout.h"
#include "rtl/model/nic.h"
#include "rtl/nic/connection_format.h"

namespace drover::rtl {

class NetworkHalf {
 public:
  // Of the verilated model: flows, fewer than the host half's, and entries that it holds itself.
  static constexpr uint32_t kFlows = 4, kConnections = 16;

  static std::unique_ptr<NetworkHalf> make(const PowerUp& power_up = {});
  virtual ~NetworkHalf() = default;

  virtual AxiReadPort table_read_port() = 0;
  virtual AxiWritePort table_write_port() = 0;
  virtual void add(Part* part) = 0;  // before reset()
  virtual void reset() = 0;
  virtual void cycle() = 0;

  // A line for the network. It waits here while its flow has no room; then another flow's goes first.
  virtual void send(const LineSlot& line, uint8_t flow) = 0;
  virtual size_t waiting(uint8_t flow) const = 0;
  // Called for each line that came; it counts as taken. `NicLine.policy` is the connection's.
  virtual void on_line(std::function<void(const NicLine&)> callback) = 0;
  // No line is taken while held; they wait a while, then they are refused, and come again.
  virtual void hold(bool held) = 0;

  // Registers (nic::NetworkRegisters), by their offsets: one request at a time, which begins with the next cycle.
  virtual void request(bool write, uint16_t offset, uint64_t value) = 0;
  virtual bool answered() const = 0;
  virtual uint64_t answer() const = 0;

  virtual void on_frame(std::function<void(NicFrame)> callback) = 0;
  virtual void receive(NicFrame frame) = 0;
};

}  // namespace drover::rtl
