// The parts of rtl/model's NICs: what stands at the host's side of any verilated top of them.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>

#include "rtl/model/nic_device.h"

namespace drover::rtl {

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

// The host's side of a NIC, of the interface `Base` and the verilated top `Top`.
template <typename Top, typename Base>
class NicDeviceOf : public Base {
 public:
  explicit NicDeviceOf(const NicConfig& config)
      : sim_(config.power_up), host_(&sim_.top(), config), snoops_(&sim_.top()) {}

  AxiReadPort read_port() override { return DROVER_AXI_READ_PORT(sim_.top(), host); }
  AxiWritePort write_port() override { return DROVER_AXI_WRITE_PORT(sim_.top(), host); }
  const CData* read_cached() override { return &sim_.top().host_aruser_o; }
  void add(Part* part) override { sim_.add(part); }
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

 protected:
  // Resets with these parts of its own, behind the caller's.
  void reset_with(Part* network) {
    if (!joined_) {
      for (Part* part : {static_cast<Part*>(&host_), static_cast<Part*>(&snoops_), network}) sim_.add(part);
      joined_ = true;
    }
    sim_.reset();
  }

  Simulation<Top> sim_;

 private:
  HostPort<Top> host_;
  SnoopPort<Top> snoops_;
  bool joined_ = false;
};

}  // namespace drover::rtl
