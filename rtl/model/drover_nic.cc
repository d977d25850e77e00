#include "rtl/model/drover_nic.h"

#include <Vdrover_nic_coherent.h>
#include <Vdrover_nic_cxl.h>
#include <Vdrover_nic_doorbell.h>
#include <Vdrover_nic_mmio.h>
#include <Vnic_coherent.h>
#include <Vnic_coherent_synchronous.h>
#include <Vnic_cxl.h>
#include <Vnic_cxl_synchronous.h>
#include <Vnic_doorbell.h>
#include <Vnic_doorbell_synchronous.h>
#include <Vnic_half_reliable.h>
#include <Vnic_half_udp.h>
#include <Vnic_mmio.h>
#include <Vnic_mmio_synchronous.h>

#include <utility>

#include "rtl/model/frame_port.h"
#include "rtl/model/joined_nic.h"
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

template <typename Host>
std::unique_ptr<DroverNic> joined(const NicConfig& config, nic::Transport transport) {
  if (transport == nic::Transport::kUdp) {
    return std::make_unique<DroverNicOf<JoinedNic<Host, Vnic_half_udp>>>(config);
  }
  return std::make_unique<DroverNicOf<JoinedNic<Host, Vnic_half_reliable>>>(config);
}

// `Whole` is the module of the interface, asynchronous, with the reliable transport.
template <typename Whole, typename Asynchronous, typename Synchronous>
std::unique_ptr<DroverNic> of_interface(const NicConfig& config, nic::Transport transport) {
  if (config.synchronous) return joined<Synchronous>(config, transport);
  if (config.joined || transport == nic::Transport::kUdp) return joined<Asynchronous>(config, transport);
  return std::make_unique<DroverNicOf<Whole>>(config);
}

}  // namespace

std::unique_ptr<DroverNic> DroverNic::make(const NicConfig& config, nic::Transport transport) {
  switch (config.tx_interface) {
    case TxInterface::kMmio:
      return of_interface<Vdrover_nic_mmio, Vnic_mmio, Vnic_mmio_synchronous>(config, transport);
    case TxInterface::kDoorbell:
      return of_interface<Vdrover_nic_doorbell, Vnic_doorbell, Vnic_doorbell_synchronous>(config, transport);
    case TxInterface::kCxl:
      return of_interface<Vdrover_nic_cxl, Vnic_cxl, Vnic_cxl_synchronous>(config, transport);
    case TxInterface::kCoherent:
      break;
  }
  return of_interface<Vdrover_nic_coherent, Vnic_coherent, Vnic_coherent_synchronous>(config, transport);
}

}  // namespace drover::rtl
