// A NIC's host half with hosts around it, and a network that brings each line back to the NIC, as a reliable one does:
// in order, and again while it is refused.
//
//   NicBench bench({.tx_interface = TxInterface::kCoherent, .flows = 4});
//   bench.enable(0); bench.send(0, line); bench.run_until([&] { return !bench.received(0).empty(); });
#pragma once

#include "rtl/model/nic.h"
#include "rtl/testing/nic_hosts.h"

namespace drover::rtl {

// The NIC is made before the hosts around it.
struct NicOfBench {
  explicit NicOfBench(const NicBenchOptions& options)
      : device(Nic::make({.tx_interface = options.tx_interface,
                          .synchronous = options.synchronous,
                          .power_up = {options.power_up_seed != 0, options.power_up_seed},
                          .store_stall = Stalls(options.stalls_of_256, options.seed + 10),
                          .answer_stall = Stalls(options.stalls_of_256, options.seed + 11),
                          .line_stall = [this, stalls = Stalls(options.stalls_of_256, options.seed + 12)]() mutable {
                            return held || stalls();
                          }})) {}
  std::unique_ptr<Nic> device;
  bool held = false;
};

class NicBench final : private NicOfBench, public NicHosts {
 public:
  explicit NicBench(const NicBenchOptions& options) : NicOfBench(options), NicHosts(options, device.get()) {
    device->reset();
    device->on_line([this](const NicLine& line) { sent_.push_back(line); });
    direction_ = [](const NicLine& line) { return line; };
  }

  Nic& nic() { return *device; }
  // Where a line that the NIC sends comes back to: the flow and policy of its connection. As it left, without.
  void direct(std::function<NicLine(const NicLine&)> direction) { direction_ = std::move(direction); }
  // While set, the network takes no line from the NIC.
  void hold(bool hold_back) { held = hold_back; }

 private:
  void cycle() override {
    device->cycle();
    for (const NicLine& line : std::exchange(sent_, {})) offer(direction_(line));
  }

  // The network keeps a flow's lines in order: one that is refused comes again, and those behind it wait.
  void offer(const NicLine& line) {
    auto& queue = network_[line.flow];
    queue.push_back(line);
    if (queue.size() == 1) offer_first(line.flow);
  }
  void offer_first(uint8_t flow) {
    device->offer(network_[flow].front(), [this, flow](bool taken) {
      auto& queue = network_[flow];
      if (taken || (options_.lossy >> flow & 1) != 0) queue.pop_front();
      if (!queue.empty()) offer_first(flow);
    });
  }

  std::vector<NicLine> sent_;
  std::function<NicLine(const NicLine&)> direction_;
  std::array<std::deque<NicLine>, nic::kMaxFlows> network_;
};

}  // namespace drover::rtl
