// The network side of a NIC in RTL: its addresses, its connections with their table in host memory, its counters. The
// registers are reached by functions, so that they may be those of a whole NIC or of the network half alone.
#pragma once

#include <functional>
#include <string>

#include "rtl/nic/connection_format.h"
#include "sim/engines/nic/nic_options.h"
#include "sim/platform/axi_bridge.h"

namespace drover::sim {

// The NIC's network registers (rtl/nic/connection.toml, NetworkRegisters), by their offsets. Both functions return when
// the register has been written or read.
struct NetworkRegisterPort {
  std::function<void(size_t offset, uint64_t value)> write;
  std::function<uint64_t(size_t offset)> read;
};

// The connection table in host memory behind the NIC's port for it. Until simulated time begins, accesses take none.
class ConnectionTable {
 public:
  ConnectionTable(rtl::AxiReadPort reads, rtl::AxiWritePort writes, HostNode* host, const Time* now);
  rtl::Part* reads() { return &reads_; }
  rtl::Part* writes() { return &writes_; }
  void begin() { begun_ = true; }
  // Before a cycle of the device: what is due by now.
  void advance() { writes_.deliver(now_); }
  uint64_t address() const { return address_; }
  uint64_t violations() const { return reads_.violations() + writes_.violations(); }

 private:
  const Time& now_;
  bool begun_ = false;  // simulated time
  const uint64_t address_;
  AxiReadBridge reads_;
  AxiWriteBridge writes_;
};

void configure_network(const NetworkRegisterPort& port, const NicOptions& options, uint32_t host, uint64_t table);
// An empty string, or why the connection does not open.
std::string open_connection(const NetworkRegisterPort& port, const NicOptions& options, uint32_t host,
                            const CallConnection& connection);
Figures network_figures(const NetworkRegisterPort& port);
// Of a frame that leaves: its connection.
uint64_t key_of_frame(const Frame& frame);

}  // namespace drover::sim
