#include "rtl/model/nic.h"

#include <Vnic_coherent.h>
#include <Vnic_cxl.h>
#include <Vnic_doorbell.h>
#include <Vnic_mmio.h>
#include <Vnic_synchronous.h>

#include <array>
#include <initializer_list>
#include <utility>

namespace drover::rtl {
namespace {

// The host's end of the slave: stores' addresses and data go out independently, loads one by one.
template <typename Top>
struct HostPort final : Part {
  struct Store {
    uint32_t address;
    std::array<char, 64> line;
    uint64_t strobes;
  };
  struct Load {
    uint32_t address;
    std::function<void(uint64_t)> done;
  };

  HostPort(Top* device, const NicConfig& config)
      : top(*device),
        address_stall(config.store_stall),
        data_stall(config.store_stall),
        answer_stall(config.answer_stall) {}

  bool done() const { return addresses.empty() && data.empty() && unanswered == 0; }

  void drive() override {
    if (std::exchange(took_address, false)) top.mmio_awvalid_i = 0;
    if (!top.mmio_awvalid_i) top.mmio_awvalid_i = !addresses.empty() && !held_back(address_stall);
    if (top.mmio_awvalid_i) top.mmio_awaddr_i = addresses.front();
    if (std::exchange(took_data, false)) top.mmio_wvalid_i = 0;
    if (!top.mmio_wvalid_i) top.mmio_wvalid_i = !data.empty() && !held_back(data_stall);
    if (top.mmio_wvalid_i) {
      std::memcpy(&top.mmio_wdata_i, data.front().line.data(), 64);
      top.mmio_wstrb_i = data.front().strobes;
    }
    top.mmio_bready_i = !held_back(answer_stall);
    top.mmio_arvalid_i = !loads.empty() && !loading;
    if (top.mmio_arvalid_i) top.mmio_araddr_i = loads.front().address;
    top.mmio_rready_i = !held_back(answer_stall);
  }
  void sample() override {
    if (top.mmio_awvalid_i && top.mmio_awready_o) addresses.pop_front(), took_address = true;
    if (top.mmio_wvalid_i && top.mmio_wready_o) data.pop_front(), took_data = true;
    if (top.mmio_arvalid_i && top.mmio_arready_o) loading = true;
    if (top.mmio_bvalid_o && top.mmio_bready_i) {
      --unanswered;
      refused += top.mmio_bresp_o != kAxiOkay;
    }
    if (top.mmio_rvalid_o && top.mmio_rready_i) {
      uint64_t word;
      std::memcpy(&word, reinterpret_cast<const char*>(&top.mmio_rdata_o) + loads.front().address % 64, sizeof word);
      auto done = std::move(loads.front().done);
      loads.pop_front();
      loading = false;
      if (done) done(word);
    }
  }
  void reset() override {
    addresses.clear();
    data.clear();
    loads.clear();
    loading = took_address = took_data = false;
    unanswered = 0;
    top.mmio_awvalid_i = top.mmio_wvalid_i = top.mmio_arvalid_i = top.mmio_bready_i = top.mmio_rready_i = 0;
  }

  Top& top;
  Stall address_stall, data_stall, answer_stall;
  std::deque<uint32_t> addresses;
  std::deque<Store> data;
  std::deque<Load> loads;
  uint64_t unanswered = 0, refused = 0;
  bool loading = false, took_address = false, took_data = false;
};

// The coherent cache's end: a snoop each cycle.
template <typename Top>
struct SnoopPort final : Part {
  explicit SnoopPort(Top* device) : top(*device) {}
  void drive() override {
    top.snoop_valid_i = !addresses.empty();
    if (top.snoop_valid_i) top.snoop_addr_i = addresses.front() >> 6;
  }
  void sample() override {
    if (top.snoop_valid_i) addresses.pop_front();
  }
  void reset() override {
    addresses.clear();
    top.snoop_valid_i = 0;
  }

  Top& top;
  std::deque<uint64_t> addresses;
};

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
class NicOf final : public Nic {
 public:
  explicit NicOf(const NicConfig& config)
      : sim_(config.power_up), host_(&sim_.top(), config), snoops_(&sim_.top()), network_(&sim_.top(), config) {}

  AxiReadPort read_port() override { return DROVER_AXI_READ_PORT(sim_.top(), host); }
  AxiWritePort write_port() override { return DROVER_AXI_WRITE_PORT(sim_.top(), host); }
  const CData* read_cached() override { return &sim_.top().host_aruser_o; }
  void add(Part* part) override { sim_.add(part); }
  void reset() override {
    if (!joined_) {
      for (Part* part : std::initializer_list<Part*>{&host_, &snoops_, &network_}) sim_.add(part);
      joined_ = true;
    }
    sim_.reset();
  }
  void cycle() override { sim_.cycle(); }
  uint64_t cycles() const override { return sim_.cycles(); }

  void store(uint32_t address, const void* bytes, size_t size) override {
    typename HostPort<Top>::Store store{address, {}, 0};
    std::memcpy(store.line.data() + address % 64, bytes, size);
    store.strobes = (size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1) << address % 64;
    host_.addresses.push_back(address);
    host_.data.push_back(store);
    ++host_.unanswered;
  }
  bool stores_done() const override { return host_.done(); }
  uint64_t stores_refused() const override { return host_.refused; }
  void load64(uint32_t address, std::function<void(uint64_t)> done) override {
    host_.loads.push_back({address, std::move(done)});
  }
  void snoop(uint64_t address) override { snoops_.addresses.push_back(address); }
  void on_line(std::function<void(const NicLine&)> callback) override { network_.line = std::move(callback); }
  void allow(uint64_t flows) override { network_.allowed = flows & ((uint64_t{1} << kFlows) - 1); }
  void offer(const NicLine& line, std::function<void(bool)> taken) override {
    network_.offers.push_back({line, std::move(taken)});
  }
  size_t offered() const override { return network_.offers.size(); }
  void on_register(std::function<uint64_t(bool, uint16_t, uint64_t)> callback) override {
    network_.registers = std::move(callback);
  }

 private:
  Simulation<Top> sim_;
  HostPort<Top> host_;
  SnoopPort<Top> snoops_;
  NetworkPort<Top> network_;
  bool joined_ = false;  // this object's own parts are behind the caller's
};

}  // namespace

std::unique_ptr<Nic> Nic::make(const NicConfig& config) {
  if (config.synchronous) return std::make_unique<NicOf<Vnic_synchronous>>(config);
  switch (config.tx_interface) {
    case TxInterface::kMmio:
      return std::make_unique<NicOf<Vnic_mmio>>(config);
    case TxInterface::kDoorbell:
      return std::make_unique<NicOf<Vnic_doorbell>>(config);
    case TxInterface::kCxl:
      return std::make_unique<NicOf<Vnic_cxl>>(config);
    case TxInterface::kCoherent:
      break;
  }
  return std::make_unique<NicOf<Vnic_coherent>>(config);
}

uint64_t Nic::load64_now(uint32_t address) {
  bool there = false;
  uint64_t value = 0;
  load64(address, [&](uint64_t word) { value = word, there = true; });
  while (!there) cycle();
  return value;
}

}  // namespace drover::rtl
