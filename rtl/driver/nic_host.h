// What a host program does to use the NIC (rtl/nic): registers, rings, doorbells. The same code drives a real device
// and a simulated one: stores go through a function of the caller's, rings lie in memory of the caller's.
//
//   NicFlow flow{.number = 0, .tx_ring = ..., ...};              bus addresses; memory zeroed
//   for (const NicStore& word : nic_enable(flow)) store(word);
//   NicSender sender(TxInterface::kDoorbell, 0, ring, 1024, &tx_position, store);
//   sender.try_send(line); ... sender.announce();
//   RingConsumer receiver(rx_ring, 1024, &rx_position); receiver.try_pop(slot);
//
// Memory order on a real device: the store function orders its stores behind all earlier writes to memory (sfence on
// x86), and stores 64 bytes at once (movdir64b, or an aligned AVX-512 store); windows of the MMIO interface are mapped
// uncached or write-combining, those of the CXL interface as ordinary memory.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "channel/ring.h"
#include "rtl/nic/nic_format.h"

namespace drover::rtl {

using nic::BalancePolicy;
using nic::TxInterface;

// `size` bytes at `address` of the NIC's address space: 8 or 64, aligned.
using NicStoreFunction = std::function<void(uint32_t address, const void* bytes, size_t size)>;

// A register and what goes into it.
struct NicStore {
  uint32_t address;
  uint64_t value;
};

constexpr uint32_t nic_control(size_t register_at) { return nic::kControlAt + static_cast<uint32_t>(register_at); }
constexpr uint32_t nic_flow_register(uint32_t flow, size_t register_at) {
  return nic::kFlowRegistersAt + flow * static_cast<uint32_t>(sizeof(nic::FlowRegisters)) +
         static_cast<uint32_t>(register_at);
}
constexpr uint32_t nic_counter(size_t counter_at) { return nic::kCountersAt + static_cast<uint32_t>(counter_at); }
constexpr uint32_t nic_window(uint32_t flow) { return flow * nic::kFlowPageBytes; }
constexpr uint32_t nic_doorbell(uint32_t flow) { return nic_window(flow) + nic::kDoorbellAt; }

// Where a flow's memory lies on the bus. Rings begin at multiples of nic::kRingAlign and have a power of two of lines,
// 16 to 65,536; positions lie at multiples of 64.
struct NicFlow {
  uint32_t number = 0;
  uint64_t tx_ring = 0, tx_position = 0;  // of mmio and cxl: the position alone
  uint32_t tx_lines = 0;
  uint64_t rx_ring = 0, rx_position = 0;
  uint32_t rx_lines = 0;
};

inline uint64_t nic_ring_word(uint64_t address, uint32_t lines) {
  return nic::RingRegister{.lines_log = static_cast<uint8_t>(std::countr_zero(lines)),
                           .page = address / nic::kRingAlign}
      .encode();
}

// The stores that begin a flow, both ways, with empty rings. The flow has to be disabled and not busy.
inline std::vector<NicStore> nic_enable(const NicFlow& flow) {
  auto at = [&](size_t register_at) { return nic_flow_register(flow.number, register_at); };
  return {{at(offsetof(nic::FlowRegisters, tx_ring)), nic_ring_word(flow.tx_ring, flow.tx_lines)},
          {at(offsetof(nic::FlowRegisters, tx_position)), flow.tx_position},
          {at(offsetof(nic::FlowRegisters, rx_ring)), nic_ring_word(flow.rx_ring, flow.rx_lines)},
          {at(offsetof(nic::FlowRegisters, rx_position)), flow.rx_position},
          {at(offsetof(nic::FlowRegisters, control)), nic::FlowControl{.tx = 1, .rx = 1}.encode()}};
}
// Its memory may be given up once FlowStatus says that it is not busy.
inline NicStore nic_disable(uint32_t flow) {
  return {nic_flow_register(flow, offsetof(nic::FlowRegisters, control)), 0};
}

// Its TX ring alone. Once FlowStatus says that tx is not busy, the NIC has sent or dropped all of the ring's lines that
// it had seen.
inline NicStore nic_stop_sending(uint32_t flow) {
  return {nic_flow_register(flow, offsetof(nic::FlowRegisters, control)), nic::FlowControl{.tx = 0, .rx = 1}.encode()};
}
// With an empty ring.
inline NicStore nic_start_sending(uint32_t flow) {
  return {nic_flow_register(flow, offsetof(nic::FlowRegisters, control)), nic::FlowControl{.tx = 1, .rx = 1}.encode()};
}

// The flow to which a key goes by BalancePolicy key_hash. `arguments`: of the message's first line, LineArguments
// bytes.
inline uint32_t nic_key_flow(const uint8_t* arguments, nic::KeyRegister key, uint32_t flows_in_use) {
  uint64_t folded = 0;
  for (uint32_t i = key.offset; i < kLineArguments && i < uint32_t{key.offset} + key.length; ++i) {
    folded ^= uint64_t{arguments[i]} << 8 * (i % 8);
  }
  uint32_t hash = 0;
  for (int i = 0; i < 16; ++i) {
    hash |= static_cast<uint32_t>(std::popcount(folded & std::rotl(nic::kHashRow, 3 * i)) & 1) << i;
  }
  return hash * flows_in_use >> 16;
}

// The host's end of a flow's TX ring, whichever the interface. One thread at a time.
class NicSender {
 public:
  // `ring`: `lines` lines of memory, zeroed: the ring (doorbell, coherent), or the host's copy of the one in the NIC
  // (mmio, cxl; HardRegister.flow_lines lines). `taken`: where the NIC publishes its position; with synchronous
  // threading, where taken() does.
  NicSender(TxInterface tx_interface, uint32_t flow, void* ring, uint32_t lines, ConsumerPosition* taken,
            NicStoreFunction store)
      : tx_interface_(tx_interface),
        flow_(flow),
        ring_(static_cast<char*>(ring)),
        lines_(lines),
        taken_(taken),
        producer_(ring, lines, taken),
        store_(std::move(store)) {}

  PushResult try_send(const LineSlot& line) {
    uint64_t slot = producer_.pushed() & (producer_.capacity() - 1);
    PushResult result = producer_.try_push(line);
    if (result == PushResult::kOk && (tx_interface_ == TxInterface::kMmio || tx_interface_ == TxInterface::kCxl)) {
      store_(nic_window(flow_) + static_cast<uint32_t>(slot * kSlotSize), ring_ + slot * kSlotSize, kSlotSize);
    }
    return result;
  }
  // Doorbell: the NIC may read all that was sent. Otherwise nothing.
  void announce() {
    if (tx_interface_ != TxInterface::kDoorbell || announced_ == producer_.pushed()) return;
    announced_ = producer_.pushed();
    store_(nic_doorbell(flow_), &announced_, sizeof announced_);
  }
  // Synchronous threading: the first `lines` of all lines that were sent have been taken (nic_answers.h).
  void taken(uint64_t lines) { taken_->position.store(lines, std::memory_order_release); }
  // Synchronous threading over the unreliable transport: the ring has had no room for longer than calls last, so that
  // nothing may come that frees its lines. Lines that the NIC has not taken are lost; none is sent twice.
  //
  //   store(nic_stop_sending(flow)); wait until FlowStatus.tx_busy is 0; begin_anew(); answered.begin_anew();
  //   store(nic_start_sending(flow));
  void begin_anew() {
    std::memset(ring_, 0, size_t{lines_} * kSlotSize);
    taken(0);
    producer_ = RingProducer(ring_, lines_, taken_);
    announced_ = 0;
  }

  uint64_t sent() const { return producer_.pushed(); }
  uint32_t room() { return producer_.room(); }

 private:
  TxInterface tx_interface_;
  uint32_t flow_;
  char* ring_;
  uint32_t lines_;
  ConsumerPosition* taken_;
  RingProducer producer_;
  NicStoreFunction store_;
  uint64_t announced_ = 0;
};

}  // namespace drover::rtl
