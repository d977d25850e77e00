// Hosts around a NIC: memory with rings, and a sender and a receiver for each flow. What the NIC's network is, and what
// a cycle is, is a derived class's (rtl/testing/nic_bench.h, rtl/nic/drover_nic_test.cc).
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "rtl/model/nic_device.h"
#include "rtl/testing/nic_memory.h"

namespace drover::rtl {

struct NicBenchOptions {
  TxInterface tx_interface = TxInterface::kCoherent;
  bool synchronous = false;
  bool joined = false;  // NicConfig's
  uint32_t flows = 1;
  uint32_t tx_lines = 64, rx_lines = 64;  // of the rings
  NicMemoryTiming reads = {};
  AxiTiming writes = {.latency = 20};
  uint32_t stalls_of_256 = 0;  // of stores, answers and lines to the network
  uint64_t lossy =
      0;  // flows (a bit each) whose lines the network drops if they are refused, instead of sending them again
  uint64_t seed = 1;
  uint32_t power_up_seed = 0;
  uint32_t refuse_write_of = 0;  // the flow whose writes break_writes() breaks
};

class NicHosts {
 public:
  // `nic` is not reset yet.
  NicHosts(const NicBenchOptions& options, NicDevice* nic)
      : options_(options),
        nic_(nic),
        room_(options.flows * kFlowBytes + nic::kRingAlign),
        bytes_(align(room_.data()), options.flows * kFlowBytes),
        reads_(nic_->read_port(), nic_->read_cached(), bytes_, options.reads,
               [this](uint64_t address) { nic_->snoop(address); }),
        writes_(nic_->write_port(), bytes_, write_behaviour()),
        hosts_(options.flows) {
    nic_->add(&reads_);
    nic_->add(&writes_);
  }
  virtual ~NicHosts() = default;
  NicHosts(const NicHosts&) = delete;
  NicHosts& operator=(const NicHosts&) = delete;

  NicMemory& reads() { return reads_; }
  const AxiWriteMemory& writes() const { return writes_; }

  // While set, host memory answers writes to a flow's memory (refuse_write_of) with errors.
  void break_writes(bool broken) { broken_ = broken; }
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
                  in_host ? options_.tx_lines : NicDevice::kFlowLines, position(at.tx_position),
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
  // The flow's TX ring begins anew, while its RX ring goes on.
  void begin_sending_anew(uint32_t flow) {
    const NicStore stop = nic_stop_sending(flow), start = nic_start_sending(flow);
    store(stop.address, stop.value);
    do {
      settle();
    } while (status(flow).tx_busy);
    hosts_[flow].sender.begin_anew();
    for (uint32_t i = 0; i < options_.tx_lines; ++i) reads_.wrote(layout(flow).tx_ring + i * kSlotSize);
    settle();
    store(start.address, start.value);
    settle();
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
    cycle();
    take();
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

 protected:
  // All that there is goes on by a cycle, this NIC with it.
  virtual void cycle() = 0;
  // The host takes what has come, unless it pauses.
  void take() {
    for (Host& host : hosts_) {
      Slot slot;
      if (host.on && !host.paused && host.receiver.try_pop(slot)) host.received.push_back(slot_as<LineSlot>(slot));
    }
  }
  const NicBenchOptions options_;

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

  NicDevice* nic_;
  std::vector<char> room_;
  std::span<char> bytes_;
  NicMemory reads_;
  AxiWriteMemory writes_;
  std::vector<Host> hosts_;
  bool broken_ = false;
};

}  // namespace drover::rtl
