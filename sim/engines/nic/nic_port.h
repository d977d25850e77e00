// A flow's port of the simulated NIC: what a program's operations cost its core, and how they reach the NIC.
//
//   coherent   a line is stored into the TX ring in host memory; the NIC's polls find it
//   doorbell   the same; an uncached store to the NIC for each batch of lines
//   mmio       a line is stored, uncached, into the flow's window of the NIC, over the link
//   cxl        a line is stored into the NIC's own memory, over the link, without waiting for it
//
// In each of them lines come back through the RX ring in host memory, and rings are channel/ring.h's. With synchronous
// threading the port itself finds how far the NIC has taken the TX ring (rtl/driver/nic_answers.h). Where the transport
// loses lines, a ring that has had no room for line_nic.reclaim begins anew (rtl/driver/nic_host.h,
// nic_stop_sending).
#pragma once

#include <memory>
#include <optional>

#include "channel/ring.h"
#include "rtl/driver/nic_answers.h"
#include "rtl/model/nic_device.h"
#include "sim/engines/nic/nic_options.h"

namespace drover::sim {

// What a flow shares with its NIC in host memory, by offset.
struct FlowMemory {
  uint64_t tx_ring, tx_position, rx_ring, rx_position;
};

class NicPort final : public LinePort {
 public:
  // `coherent` is null for other interfaces. `window`: CallShape's. `begun_anew` counts rings that were.
  NicPort(const NicOptions& options, uint8_t flow, const FlowMemory& memory, HostNode* host, rtl::NicDevice* nic,
          CoherentLink* coherent, Core* core, uint32_t window, uint64_t* begun_anew);

  bool try_push(const Slot& line) override;
  bool has_room(uint32_t count) override;
  bool try_pop(Slot& taken) override;
  void flush() override;
  void idle() override;
  int64_t now_ns() override { return static_cast<int64_t>(core_.now() / kNanosecond); }

 private:
  static constexpr Time kNever = ~Time{0};

  void make_sender();
  void begin_anew();
  bool sending();  // by the flow's status
  void ring_doorbell();
  // A posted store to the NIC: takes the core `cost` and arrives over the link.
  void store(uint32_t address, const void* bytes, size_t size, Time cost);

  const NicOptions options_;
  const uint8_t flow_;
  const FlowMemory memory_;
  HostNode& host_;
  rtl::NicDevice& nic_;
  CoherentLink* const coherent_;
  uint64_t& begun_anew_;
  Core& core_;
  std::vector<Slot> window_;  // mmio, cxl: the ring as the host knows it; its content goes to the NIC
  RingProducer out_;
  RingConsumer in_;
  ConsumerPosition* const taken_;               // of the TX ring
  std::optional<rtl::AnsweredLines> answered_;  // synchronous
  Time full_since_ = kNever;
  uint64_t rung_ = 0;      // doorbell: lines of which the NIC knows
  Time first_unrung_ = 0;  // when the first of the others was pushed
};

}  // namespace drover::sim
