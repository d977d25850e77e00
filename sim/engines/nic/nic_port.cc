#include "sim/engines/nic/nic_port.h"

#include <cstring>

#include "channel/line.h"

namespace drover::sim {
namespace {

using rtl::nic::TxInterface;

ConsumerPosition* position_at(HostNode& host, uint64_t offset) {
  return reinterpret_cast<ConsumerPosition*>(host.memory().data() + offset);
}

}  // namespace

NicPort::NicPort(const NicOptions& options, uint8_t flow, const FlowMemory& memory, HostNode* host, rtl::NicDevice* nic,
                 CoherentLink* coherent, Core* core, uint32_t window)
    : options_(options),
      flow_(flow),
      memory_(memory),
      host_(*host),
      nic_(*nic),
      coherent_(coherent),
      core_(*core),
      taken_(position_at(*host, memory.tx_position)) {
  if (options.threading == rtl::nic::Threading::kSynchronous) answered_.emplace(window);
  uint32_t lines = in_host_memory() ? options.ring_lines : rtl::NicDevice::kFlowLines;
  void* slots = host_.memory().data() + memory.tx_ring;
  if (!in_host_memory()) {
    window_.resize(lines);
    slots = window_.data();
  }
  out_ = RingProducer(slots, lines, taken_);
  in_ =
      RingConsumer(host_.memory().data() + memory.rx_ring, options.ring_lines, position_at(host_, memory.rx_position));
}

bool NicPort::try_push(const Slot& line) {
  if (out_.full()) {
    core_.spend(Work::kPoll, host_.cores().poll);
    return false;
  }
  core_.spend(Work::kPush, host_.cores().push);
  uint64_t slot = out_.pushed() & (out_.capacity() - 1);
  if (coherent_ != nullptr && coherent_->store(core_.now(), memory_.tx_ring + slot * sizeof(Slot))) {
    core_.spend(Work::kShared, host_.cores().store_shared);
  }
  out_.try_push(line);
  if (answered_) answered_->sent(line_view(line), out_.pushed());
  if (!in_host_memory()) {
    Time cost = options_.interface == TxInterface::kMmio ? host_.cores().mmio_line : host_.cores().device_line;
    store(static_cast<uint32_t>(flow_ * rtl::nic::kFlowPageBytes + slot * sizeof(Slot)), &window_[slot], sizeof(Slot),
          cost);
  }
  if (options_.interface == TxInterface::kDoorbell) {
    if (out_.pushed() - rung_ == 1) first_unrung_ = core_.now();
    if (out_.pushed() - rung_ >= options_.batch) ring_doorbell();
  }
  return true;
}

bool NicPort::try_pop(Slot& taken) {
  if (!in_.ready()) {
    core_.spend(Work::kPoll, host_.cores().poll);
    return false;
  }
  core_.spend(Work::kTake, host_.cores().take);
  if (!in_.try_pop(taken)) return false;
  if (answered_) taken_->position.store(answered_->came(line_view(taken)), std::memory_order_release);
  return true;
}

// A batch that is not full waits for more lines, but not for ever.
void NicPort::flush() {
  if (options_.interface != TxInterface::kDoorbell || rung_ == out_.pushed()) return;
  if (core_.now() - first_unrung_ >= options_.doorbell_wait) ring_doorbell();
}

void NicPort::idle() {
  core_.spend(Work::kIdle, host_.cores().poll);
  flush();
}

void NicPort::ring_doorbell() {
  rung_ = out_.pushed();
  store(flow_ * rtl::nic::kFlowPageBytes + rtl::nic::kDoorbellAt, &rung_, sizeof rung_, host_.cores().doorbell);
}

void NicPort::store(uint32_t address, const void* bytes, size_t size, Time cost) {
  core_.spend(Work::kMmio, cost);
  Slot copy;
  std::memcpy(static_cast<void*>(&copy), bytes, size);
  Time arrives = host_.link().push(core_.now(), size).arrived;
  host_.timeline().at(arrives, [this, address, copy, size] { nic_.store(address, &copy, size); });
}

}  // namespace drover::sim
