#include "rtl/model/nic.h"

#include <Vnic_coherent.h>
#include <Vnic_coherent_synchronous.h>
#include <Vnic_cxl.h>
#include <Vnic_cxl_synchronous.h>
#include <Vnic_doorbell.h>
#include <Vnic_doorbell_synchronous.h>
#include <Vnic_mmio.h>
#include <Vnic_mmio_synchronous.h>

#include <deque>
#include <utility>

#include "rtl/model/nic_parts.h"

namespace drover::rtl {
namespace {

// The network half's place: takes and gives lines, and answers for its registers.
template <typename Top>
struct NetworkPort final : Part {
  struct Offer {
    NicLine line;
    std::function<void(bool)> taken;
  };
  NetworkPort(Top* device, const NicConfig& config) : top(*device), stall(config.line_stall) {}
  void drive() override {
    top.tx_ready_i = !held_back(stall);
    top.tx_room_i = allowed;
    top.rx_valid_i = !offers.empty();
    if (top.rx_valid_i) {
      std::memcpy(&top.rx_line_i, &offers.front().line.line, sizeof(LineSlot));
      top.rx_flow_i = offers.front().line.flow;
      top.rx_policy_i = static_cast<CData>(offers.front().line.policy);
    }
    top.reg_ack_i = top.reg_req_o;
    if (!top.reg_req_o) return;
    uint64_t value = registers ? registers(top.reg_we_o, top.reg_addr_o, top.reg_wdata_o) : 0;
    top.reg_rdata_i = value;
  }
  void sample() override {
    if (top.tx_valid_o && top.tx_ready_i && line) {
      NicLine out;
      std::memcpy(&out.line, &top.tx_line_o, sizeof out.line);
      out.flow = top.tx_flow_o;
      line(out);
    }
    if (top.rx_valid_i && top.rx_ready_o) {
      auto taken = std::move(offers.front().taken);
      offers.pop_front();
      if (taken) taken(!top.rx_refused_o);
    }
  }
  void reset() override {
    offers.clear();
    top.tx_ready_i = top.rx_valid_i = top.reg_ack_i = 0;
  }

  Top& top;
  Stall stall;
  uint64_t allowed = (uint64_t{1} << Nic::kFlows) - 1;
  std::function<void(const NicLine&)> line;
  std::function<uint64_t(bool, uint16_t, uint64_t)> registers;
  std::deque<Offer> offers;
};

template <typename Top>
class NicOf final : public NicDeviceOf<Top, Nic> {
 public:
  explicit NicOf(const NicConfig& config) : NicDeviceOf<Top, Nic>(config), network_(&this->sim_.top(), config) {}
  void reset() override { this->reset_with(&network_); }
  void on_line(std::function<void(const NicLine&)> callback) override { network_.line = std::move(callback); }
  void allow(uint64_t flows) override { network_.allowed = flows & ((uint64_t{1} << Nic::kFlows) - 1); }
  void offer(const NicLine& line, std::function<void(bool)> taken) override {
    network_.offers.push_back({line, std::move(taken)});
  }
  size_t offered() const override { return network_.offers.size(); }
  void on_register(std::function<uint64_t(bool, uint16_t, uint64_t)> callback) override {
    network_.registers = std::move(callback);
  }

 private:
  NetworkPort<Top> network_;
};

template <typename Asynchronous, typename Synchronous>
std::unique_ptr<Nic> either(const NicConfig& config) {
  if (config.synchronous) return std::make_unique<NicOf<Synchronous>>(config);
  return std::make_unique<NicOf<Asynchronous>>(config);
}

}  // namespace

std::unique_ptr<Nic> Nic::make(const NicConfig& config) {
  switch (config.tx_interface) {
    case TxInterface::kMmio:
      return either<Vnic_mmio, Vnic_mmio_synchronous>(config);
    case TxInterface::kDoorbell:
      return either<Vnic_doorbell, Vnic_doorbell_synchronous>(config);
    case TxInterface::kCxl:
      return either<Vnic_cxl, Vnic_cxl_synchronous>(config);
    case TxInterface::kCoherent:
      break;
  }
  return either<Vnic_coherent, Vnic_coherent_synchronous>(config);
}

}  // namespace drover::rtl
