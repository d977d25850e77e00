// A NIC's host half with hosts around it: memory with rings, a sender and a receiver for each flow, and a network that
// brings each line back to the NIC, as a reliable one does: in order, and again while it is refused.
//
//   NicBench bench({.tx_interface = TxInterface::kCoherent, .flows = 4});
//   bench.enable(0); bench.send(0, line); bench.run_until([&] { return !bench.received(0).empty(); });
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "rtl/model/nic.h"
#include "rtl/testing/nic_memory.h"

namespace drover::rtl {

struct NicBenchOptions {
  TxInterface tx_interface = TxInterface::kCoherent;
  bool synchronous = false;
  uint32_t flows = 1;
  uint32_t tx_lines = 64, rx_lines = 64;  // of the rings
  NicMemoryTiming reads = {};
  AxiTiming writes = {.latency = 20};
  uint32_t stalls_of_256 = 0;  // of stores, answers and lines to the network
  uint64_t lossy = 0;  // flows (a bit each) whose lines the network drops if they are refused, instead of sending them again
  uint64_t seed = 1;
  uint32_t power_up_seed = 0;
  uint32_t refuse_write_of = 0;  // the flow whose writes break_writes() breaks
};

class NicBench {
 public:
  explicit NicBench(const NicBenchOptions& options)
      : options_(options),
        nic_(Nic::make({.tx_interface = options.tx_interface,
                        .synchronous = options.synchronous,
                        .power_up = {options.power_up_seed != 0, options.power_up_seed},
                        .store_stall = Stalls(options.stalls_of_256, options.seed + 10),
                        .answer_stall = Stalls(options.stalls_of_256, options.seed + 11),
                        .line_stall = [this, stalls = Stalls(options.stalls_of_256, options.seed + 12)]() mutable {
                          return held_ || stalls();
                        }})),
        room_(options.flows * kFlowBytes + nic::kRingAlign),
        bytes_(align(room_.data()), options.flows * kFlowBytes),
        reads_(nic_->read_port(), nic_->read_cached(), bytes_, options.reads,
               [this](uint64_t address) { nic_->snoop(address); }),
        writes_(nic_->write_port(), bytes_, write_behaviour()),
        hosts_(options.flows) {
    nic_->add(&reads_);
    nic_->add(&writes_);
    nic_->reset();
    nic_->on_line([this](const NicLine& line) { sent_.push_back(line); });
    direction_ = [](const NicLine& line) { return line; };
  }

  Nic& nic() { return *nic_; }
  NicMemory& reads() { return reads_; }
  const AxiWriteMemory& writes() const { return writes_; }

  // Where a line that the NIC sends comes back to: the flow and policy of its connection. As it left, without.
  void direct(std::function<NicLine(const NicLine&)> direction) { direction_ = std::move(direction); }
  // While set, host memory answers writes to a flow's memory (refuse_write_of) with errors.
  void break_writes(bool broken) { broken_ = broken; }
  // While set, the network takes no line from the NIC.
  void hold(bool held) { held_ = held; }
  // While set, the host takes nothing from its RX ring.
  void pause(uint32_t flow, bool paused) { hosts_[flow].paused = paused; }

  void set(size_t control_at, uint64_t value) { store(nic_control(control_at), value); }
  uint64_t counter(size_t counter_at) { return nic_->load64_now(nic_counter(counter_at)); }
  nic::FlowStatus status(uint32_t flow) {
    return nic::FlowStatus::decode(nic_->load64_now(nic_flow_register(flow, offsetof(nic::FlowRegisters, status))));
  }

  NicFlow layout(uint32_t flow) const {
    uint64_t base = flow * kFlowBytes;
    return {flow,
            base,
            base + 2 * kRingBytes,
            options_.tx_lines,
            base + kRingBytes,
            base + 2 * kRingBytes + 64,
            options_.rx_lines};
  }
  // Fresh memory, ends and registers.
  void enable(uint32_t flow) {
    NicFlow at = layout(flow);
    std::memset(bytes_.data() + flow * kFlowBytes, 0, kFlowBytes);
    Host& host = hosts_[flow];
    bool in_host = options_.tx_interface == TxInterface::kCoherent || options_.tx_interface == TxInterface::kDoorbell;
    host.sender =
        NicSender(options_.tx_interface, flow, bytes_.data() + at.tx_ring,
                  in_host ? options_.tx_lines : Nic::kFlowLines, position(at.tx_position),
                  [this](uint32_t address, const void* bytes, size_t size) { nic_->store(address, bytes, size); });
    host.receiver = RingConsumer(bytes_.data() + at.rx_ring, options_.rx_lines, position(at.rx_position));
    for (uint64_t line = 0; line < kFlowBytes; line += 64) reads_.wrote(flow * kFlowBytes + line);
    settle();  // what the coherent cache held of the old ring is gone
    for (const NicStore& word : nic_enable(at)) store(word.address, word.value);
    host.on = true;
    settle();
  }
  void disable(uint32_t flow) {
    NicStore off = nic_disable(flow);
    store(off.address, off.value);
    do {
      settle();
    } while (status(flow).tx_busy || status(flow).rx_busy);
    hosts_[flow].on = false;
  }
  // All stores are answered, and the snoops of all writes have come.
  void settle() {
    while (!nic_->stores_done()) step();
    for (uint32_t i = 0; i < 3 * options_.reads.snoop + 8; ++i) step();
  }

  // False: no room. Announces at once, or with announce().
  bool send(uint32_t flow, const LineSlot& line, bool announce = true) {
    NicSender& sender = hosts_[flow].sender;
    uint64_t slot = sender.sent() % options_.tx_lines;
    if (sender.try_send(line) != PushResult::kOk) return false;
    reads_.wrote(layout(flow).tx_ring + slot * kSlotSize);
    if (announce) sender.announce();
    return true;
  }
  void announce(uint32_t flow) { hosts_[flow].sender.announce(); }
  NicSender& sender(uint32_t flow) { return hosts_[flow].sender; }

  void step() {
    nic_->cycle();
    for (const NicLine& line : std::exchange(sent_, {})) offer(direction_(line));
    for (Host& host : hosts_) {
      Slot slot;
      if (host.on && !host.paused && host.receiver.try_pop(slot)) host.received.push_back(slot_as<LineSlot>(slot));
    }
  }
  // False: not within so many cycles.
  bool run_until(const std::function<bool()>& done, uint64_t cycles = 100'000) {
    for (uint64_t i = 0; i < cycles; ++i) {
      if (done()) return true;
      step();
    }
    return done();
  }
  std::vector<LineSlot>& received(uint32_t flow) { return hosts_[flow].received; }
  size_t received() const {
    size_t all = 0;
    for (const Host& host : hosts_) all += host.received.size();
    return all;
  }
  ConsumerPosition* position(uint64_t address) { return reinterpret_cast<ConsumerPosition*>(bytes_.data() + address); }
  char* memory(uint64_t address) { return bytes_.data() + address; }
  void store(uint32_t address, uint64_t value) { nic_->store64(address, value); }

  // What the NIC did against its protocols.
  uint64_t violations() const { return reads_.violations() + writes_.counts().violations; }

 private:
  static constexpr uint64_t kRingBytes = 0x20000;                           // up to 2,048 lines
  static constexpr uint64_t kFlowBytes = 2 * kRingBytes + nic::kRingAlign;  // TX ring, RX ring, positions
  struct Host {
    NicSender sender{TxInterface::kCoherent, 0, nullptr, 16, nullptr, {}};
    RingConsumer receiver;
    std::vector<LineSlot> received;
    bool on = false, paused = false;
  };
  AxiWriteBehaviour write_behaviour() {
    AxiWriteBehaviour behaviour = options_.writes.writes();
    behaviour.faults = [this](uint64_t address, uint32_t) {
      bool refused = broken_ && address / kFlowBytes == options_.refuse_write_of;
      return AxiFault{.response = refused ? kAxiSlaveError : kAxiOkay};
    };
    return behaviour;
  }
  static char* align(char* bytes) {
    auto at = reinterpret_cast<uintptr_t>(bytes);
    return bytes + (nic::kRingAlign - at % nic::kRingAlign) % nic::kRingAlign;
  }

  // The network keeps a flow's lines in order: one that is refused comes again, and those behind it wait.
  void offer(const NicLine& line) {
    auto& queue = network_[line.flow];
    queue.push_back(line);
    if (queue.size() == 1) offer_first(line.flow);
  }
  void offer_first(uint8_t flow) {
    nic_->offer(network_[flow].front(), [this, flow](bool taken) {
      auto& queue = network_[flow];
      if (taken || (options_.lossy >> flow & 1) != 0) queue.pop_front();
      if (!queue.empty()) offer_first(flow);
    });
  }

  NicBenchOptions options_;
  std::unique_ptr<Nic> nic_;
  std::vector<char> room_;
  std::span<char> bytes_;
  NicMemory reads_;
  AxiWriteMemory writes_;
  std::vector<Host> hosts_;
  std::vector<NicLine> sent_;
  std::function<NicLine(const NicLine&)> direction_;
  bool held_ = false, broken_ = false;
  std::array<std::deque<NicLine>, nic::kMaxFlows> network_;
};

}  // namespace drover::rtl
