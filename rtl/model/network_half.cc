#include "rtl/model/network_half.h"

#include <Vnic_net_reliable.h>

#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "rtl/model/frame_port.h"

namespace drover::rtl {
namespace {

using Top = Vnic_net_reliable;

// The host half's place: lines out, lines in, registers.
struct HostHalfPort final : Part {
  explicit HostHalfPort(Top* device) : top(*device) {}

  void drive() override {
    drive_line();
    top.rx_ready_i = !held;
    top.rx_room_i = (1u << NetworkHalf::kFlows) - 1;
    top.rx_refused_i = 0;
    top.reg_req_i = asking;
    top.reg_we_i = write;
    top.reg_addr_i = offset;
    top.reg_wdata_i = value;
  }
  // Flows with room take turns.
  void drive_line() {
    for (uint32_t i = 1; !valid && i <= NetworkHalf::kFlows; ++i) {
      uint32_t flow = (turn + i) % NetworkHalf::kFlows;
      if (lines[flow].empty() || (top.tx_room_o >> flow & 1) == 0) continue;
      std::memcpy(&top.tx_line_i, &lines[flow].front(), sizeof(LineSlot));
      top.tx_flow_i = static_cast<CData>(flow);
      lines[flow].pop_front();
      turn = flow;
      valid = true;
    }
    top.tx_valid_i = valid;
  }
  void sample() override {
    if (valid && top.tx_ready_o) valid = false;
    if (top.rx_valid_o && top.rx_ready_i) {
      NicLine in{{}, top.rx_flow_o, static_cast<BalancePolicy>(top.rx_policy_o)};
      std::memcpy(&in.line, &top.rx_line_o, sizeof in.line);
      line(in);
    }
    if (asking && top.reg_ack_o) {
      asking = false;
      value = top.reg_rdata_o;
    }
  }
  void reset() override {
    for (auto& each : lines) each.clear();
    valid = asking = false;
    top.tx_valid_i = top.rx_ready_i = top.reg_req_i = 0;
  }

  Top& top;
  std::array<std::deque<LineSlot>, NetworkHalf::kFlows> lines;
  uint32_t turn = 0;
  bool valid = false, held = false;
  bool asking = false, write = false;
  uint16_t offset = 0;
  uint64_t value = 0;
  std::function<void(const NicLine&)> line;
};

class VerilatedNetworkHalf final : public NetworkHalf {
 public:
  explicit VerilatedNetworkHalf(const PowerUp& power_up) : sim_(power_up), host_(&sim_.top()), frames_(&sim_.top()) {}

  AxiReadPort table_read_port() override { return DROVER_AXI_READ_PORT(sim_.top(), table); }
  AxiWritePort table_write_port() override { return DROVER_AXI_WRITE_PORT(sim_.top(), table); }
  void add(Part* part) override { sim_.add(part); }
  void reset() override {
    if (!joined_) {
      sim_.add(&host_);
      sim_.add(&frames_);
      joined_ = true;
    }
    sim_.reset();
  }
  void cycle() override { sim_.cycle(); }
  void send(const LineSlot& line, uint8_t flow) override { host_.lines[flow].push_back(line); }
  size_t waiting(uint8_t flow) const override { return host_.lines[flow].size(); }
  void on_line(std::function<void(const NicLine&)> callback) override { host_.line = std::move(callback); }
  void hold(bool held) override { host_.held = held; }
  void request(bool write, uint16_t offset, uint64_t value) override {
    host_.asking = true;
    host_.write = write;
    host_.offset = offset;
    host_.value = value;
  }
  bool answered() const override { return !host_.asking; }
  uint64_t answer() const override { return host_.value; }
  void on_frame(std::function<void(NicFrame)> callback) override { frames_.out = std::move(callback); }
  void receive(NicFrame frame) override { frames_.in.push_back(std::move(frame)); }

 private:
  Simulation<Top> sim_;
  HostHalfPort host_;
  FramePort<Top> frames_;
  bool joined_ = false;
};

}  // namespace

std::unique_ptr<NetworkHalf> NetworkHalf::make(const PowerUp& power_up) {
  return std::make_unique<VerilatedNetworkHalf>(power_up);
}

}  // namespace drover::rtl
