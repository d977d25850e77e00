// The verilated NIC, both halves (rtl/nic/drover_nic.sv), as an object: the host's stores and loads are here; its ports
// to host memory and to the network are the caller's to join.
//
//                           +-----+  read_port(), write_port()                AXI4
//   store(), load() ------> |     | ========================================> rings
//   snoop() --------------> | NIC |  table_read_port(), table_write_port()    AXI4
//                           |     | ========================================> connection table
//        receive() -------> |     |  on_frame()
//                           +-----+ ----------------------------------------> network
//
// Frames are Ethernet frames as datagram/frame.toml defines them. Thread-safety: one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "rtl/model/nic_device.h"
#include "rtl/nic/connection_format.h"

namespace drover::rtl {

class DroverNic : public NicDevice {
 public:
  // Of the verilated models: entries that the NIC itself holds.
  static constexpr uint32_t kConnections = 64;

  // Every interface, transport and threading model.
  static std::unique_ptr<DroverNic> make(const NicConfig& config, nic::Transport transport = nic::Transport::kReliable);

  virtual AxiReadPort table_read_port() = 0;
  virtual AxiWritePort table_write_port() = 0;
  // Called for each frame that the NIC sends, in the cycle in which the network takes it (NicConfig.line_stall).
  virtual void on_frame(std::function<void(NicFrame)> callback) = 0;
  // A frame for the NIC. One of more than 128 bytes takes several beats, and is too long for it.
  virtual void receive(NicFrame frame) = 0;
  virtual bool received_all() const = 0;
};

}  // namespace drover::rtl
