#include "rtl/model/drover_nic.h"

#include <Vdrover_nic_coherent.h>
#include <Vdrover_nic_cxl.h>
#include <Vdrover_nic_doorbell.h>
#include <Vdrover_nic_mmio.h>
#include <Vdrover_nic_synchronous.h>
#include <Vdrover_nic_udp.h>

#include <utility>

#include "rtl/model/frame_port.h"
#include "rtl/model/nic_parts.h"

namespace drover::rtl {
namespace {

template <typename Top>
class DroverNicOf final : public NicDeviceOf<Top, DroverNic> {
 public:
  explicit DroverNicOf(const NicConfig& config)
      : NicDeviceOf<Top, DroverNic>(config), frames_(&this->sim_.top(), config.line_stall) {}
  void reset() override { this->reset_with(&frames_); }
  AxiReadPort table_read_port() override { return DROVER_AXI_READ_PORT(this->sim_.top(), table); }
  AxiWritePort table_write_port() override { return DROVER_AXI_WRITE_PORT(this->sim_.top(), table); }
  void on_frame(std::function<void(NicFrame)> callback) override { frames_.out = std::move(callback); }
  void receive(NicFrame frame) override { frames_.in.push_back(std::move(frame)); }
  bool received_all() const override { return frames_.in.empty(); }

 private:
  FramePort<Top> frames_;
};

}  // namespace

std::unique_ptr<DroverNic> DroverNic::make(const NicConfig& config, nic::Transport transport) {
  if (config.synchronous) return std::make_unique<DroverNicOf<Vdrover_nic_synchronous>>(config);
  if (transport == nic::Transport::kUdp) return std::make_unique<DroverNicOf<Vdrover_nic_udp>>(config);
  switch (config.tx_interface) {
    case TxInterface::kMmio:
      return std::make_unique<DroverNicOf<Vdrover_nic_mmio>>(config);
    case TxInterface::kDoorbell:
      return std::make_unique<DroverNicOf<Vdrover_nic_doorbell>>(config);
    case TxInterface::kCxl:
      return std::make_unique<DroverNicOf<Vdrover_nic_cxl>>(config);
    case TxInterface::kCoherent:
      break;
  }
  return std::make_unique<DroverNicOf<Vdrover_nic_coherent>>(config);
}

}  // namespace drover::rtl
