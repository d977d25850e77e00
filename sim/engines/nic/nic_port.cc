#include "sim/engines/nic/nic_port.h"

#include <cstring>
#include <functional>
#include <optional>

#include "channel/line.h"
#include "rtl/driver/nic_host.h"

namespace drover::sim {
namespace {

using rtl::nic::TxInterface;

ConsumerPosition* position_at(HostNode& host, uint64_t offset) {
  return reinterpret_cast<ConsumerPosition*>(host.memory().data() + offset);
}

}  // namespace

NicPort::NicPort(const NicOptions& options, uint8_t flow, const FlowMemory& memory, HostNode* host, rtl::NicDevice* nic,
                 CoherentLink* coherent, Core* core, uint32_t window, uint64_t* begun_anew)
    : options_(options),
      flow_(flow),
      memory_(memory),
      host_(*host),
      nic_(*nic),
      coherent_(coherent),
      begun_anew_(*begun_anew),
      core_(*core),
      taken_(position_at(*host, memory.tx_position)) {
  if (options.synchronous()) answered_.emplace(window);
  if (!options.in_host_memory()) window_.resize(options.tx_lines());
  make_sender();
  in_ =
      RingConsumer(host_.memory().data() + memory.rx_ring, options.ring_lines, position_at(host_, memory.rx_position));
}

// With an empty ring.
void NicPort::make_sender() {
  void* slots =
      options_.in_host_memory() ? static_cast<void*>(host_.memory().data() + memory_.tx_ring) : window_.data();
  std::memset(slots, 0, size_t{options_.tx_lines()} * sizeof(Slot));
  taken_->position.store(0, std::memory_order_release);
  out_ = RingProducer(slots, options_.tx_lines(), taken_);
  rung_ = 0;
}

bool NicPort::has_room(uint32_t count) {
  if (out_.room(count) >= count) {
    full_since_ = kNever;
    return true;
  }
  if (!answered_ || options_.reliable()) return false;
  if (full_since_ == kNever) full_since_ = core_.now();
  if (core_.now() - full_since_ < options_.reclaim) return false;
  begin_anew();
  return out_.room(count) >= count;
}

// Nothing has come for long that says that the ring's lines were taken, and nothing may.
void NicPort::begin_anew() {
  auto control = [this](const rtl::NicStore& word) {
    store(word.address, &word.value, sizeof word.value, host_.cores().doorbell);
  };
  control(rtl::nic_stop_sending(flow_));
  while (sending()) {
  }
  for (uint32_t i = 0; coherent_ != nullptr && i < options_.ring_lines; ++i) {
    coherent_->store(core_.now(), memory_.tx_ring + i * sizeof(Slot));
  }
  make_sender();
  answered_->begin_anew();
  // Every line is the core's own again, so that the NIC finds none of the old ones.
  if (coherent_ != nullptr) core_.spend(Work::kShared, 2 * host_.coherent().one_way);
  control(rtl::nic_start_sending(flow_));
  full_since_ = kNever;
  ++begun_anew_;
}

// A load of the flow's status, there and back over the link, behind all stores.
bool NicPort::sending() {
  std::optional<uint64_t> status;
  const Time one_way = host_.link().config().one_way;
  const auto address = static_cast<uint32_t>(rtl::nic_flow_register(flow_, offsetof(rtl::nic::FlowRegisters, status)));
  std::function<void()> load = [&] {
    if (!nic_.stores_done()) return host_.timeline().at(host_.timeline().now() + options_.period(), load);
    nic_.load64(address, [&](uint64_t word) { status = word; });
  };
  host_.timeline().at(host_.link().push(core_.now(), sizeof(uint64_t)).arrived, load);
  while (!status) core_.spend(Work::kMmio, options_.period());
  core_.spend(Work::kMmio, one_way);
  return rtl::nic::FlowStatus::decode(*status).tx_busy != 0;
}

bool NicPort::try_push(const Slot& line) {
  if (!has_room(1)) {
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
  if (!options_.in_host_memory()) {
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
