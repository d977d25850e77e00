#include "rtl/model/drover_nic.h"

#include <Vdrover_nic_coherent.h>
#include <Vdrover_nic_cxl.h>
#include <Vdrover_nic_doorbell.h>
#include <Vdrover_nic_mmio.h>
#include <Vdrover_nic_udp.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "rtl/model/nic_parts.h"

namespace drover::rtl {
namespace {

constexpr size_t kBeat = 128;

// Frames leave in a beat, and come in as many as they need.
template <typename Top>
struct FramePort final : Part {
  FramePort(Top* device, const NicConfig& config) : top(*device), stall(config.line_stall) {}

  void drive() override {
    top.net_tx_tready_i = !held_back(stall);
    top.net_rx_tvalid_i = !in.empty();
    if (in.empty()) return;
    const NicFrame& frame = in.front();
    size_t bytes = std::min(kBeat, frame.size() - at);
    std::memset(&top.net_rx_tdata_i, 0xa5, kBeat);
    std::memcpy(&top.net_rx_tdata_i, frame.data() + at, bytes);
    for (size_t word = 0; word < kBeat / 32; ++word) {
      size_t some = bytes > 32 * word ? std::min<size_t>(bytes - 32 * word, 32) : 0;
      top.net_rx_tkeep_i[word] = some == 32 ? ~0u : (1u << some) - 1;
    }
    top.net_rx_tlast_i = at + bytes == frame.size();
    top.net_rx_tuser_i = 0;
  }
  void sample() override {
    if (top.net_tx_tvalid_o && top.net_tx_tready_i) send();
    if (!top.net_rx_tvalid_i || !top.net_rx_tready_o) return;
    at += kBeat;
    if (!top.net_rx_tlast_i) return;
    at = 0;
    in.pop_front();
  }
  void reset() override {
    in.clear();
    at = 0;
    top.net_tx_tready_i = top.net_rx_tvalid_i = 0;
  }
  void send() {
    size_t size = 0;
    for (size_t word = 0; word < kBeat / 32; ++word) size += __builtin_popcount(top.net_tx_tkeep_o[word]);
    NicFrame frame(size);
    std::memcpy(frame.data(), &top.net_tx_tdata_o, size);
    if (out) out(std::move(frame));
  }

  Top& top;
  Stall stall;
  std::function<void(NicFrame)> out;
  std::deque<NicFrame> in;
  size_t at = 0;  // of the frame in front
};

template <typename Top>
class DroverNicOf final : public NicDeviceOf<Top, DroverNic> {
 public:
  explicit DroverNicOf(const NicConfig& config)
      : NicDeviceOf<Top, DroverNic>(config), frames_(&this->sim_.top(), config) {}
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
