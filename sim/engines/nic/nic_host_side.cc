#include "sim/engines/nic/nic_host_side.h"

#include <algorithm>
#include <bit>

#include "rtl/driver/nic_host.h"

namespace drover::sim {
namespace {

using rtl::nic::ControlPage;
using rtl::nic::NicCounters;
using rtl::nic::TxInterface;

constexpr CData kRingReads = 0;  // the id of reads of TX rings (rtl/nic/nic_host.sv)

rtl::nic::BatchRegister batch_register(const NicOptions& options) {
  return {.tx_lines = static_cast<uint8_t>(std::min(options.batch, rtl::nic::kMaxBatch)),
          .adaptive = options.adaptive,
          .rx_lines = static_cast<uint8_t>(options.rx_batch),
          .rx_timeout = static_cast<uint16_t>(options.rx_timeout)};
}
rtl::nic::PollRegister poll_register(const NicOptions& options) {
  return {.threshold = static_cast<uint16_t>(options.threshold),
          .window = static_cast<uint16_t>(options.threshold_window),
          .interval = static_cast<uint16_t>(options.interval),
          .ahead = static_cast<uint8_t>(options.ahead)};
}

}  // namespace

NicHostSide::NicHostSide(const NicOptions& options, HostNode* host, rtl::NicDevice* nic, const Time* now,
                         uint32_t window)
    : options_(options),
      host_(*host),
      now_(*now),
      nic_(*nic),
      coherent_(host->coherent(), host->memory(), &host->endpoint(), [nic](uint64_t address) { nic->snoop(address); }),
      writes_(nic->write_port(), &host->link(), host->memory(), 0, now, Ordering::kPosted),
      window_(window) {
  if (options_.interface == TxInterface::kCoherent) {
    coherent_reads_.emplace(nic->read_port(), nic->read_cached(), kRingReads, &coherent_, &host->link(), host->memory(),
                            now);
    nic->add(&*coherent_reads_);
  } else {
    reads_.emplace(nic->read_port(), &host->link(), host->memory(), 0, now);
    nic->add(&*reads_);
  }
  nic->add(&writes_);
}

void NicHostSide::configure() {
  auto control = [this](size_t offset, uint64_t value) { set(rtl::nic_control(offset), value); };
  control(offsetof(ControlPage, batch), batch_register(options_).encode());
  control(offsetof(ControlPage, poll), poll_register(options_).encode());
  control(offsetof(ControlPage, interval),
          rtl::nic::IntervalRegister{.publish = static_cast<uint16_t>(options_.publish),
                                     .look = static_cast<uint16_t>(options_.look),
                                     .refresh = 0}
              .encode());
  control(offsetof(ControlPage, key), rtl::nic::KeyRegister{.offset = static_cast<uint8_t>(options_.key_offset),
                                                            .length = static_cast<uint8_t>(options_.key_length)}
                                          .encode());
}

std::unique_ptr<LinePort> NicHostSide::open_flow(uint8_t flow, Core* core) {
  uint64_t ring = uint64_t{options_.ring_lines} * sizeof(Slot);
  FlowMemory memory{host_.allocate(ring), 0, host_.allocate(ring), 0};
  memory.tx_position = host_.allocate(2 * sizeof(ConsumerPosition));
  memory.rx_position = memory.tx_position + sizeof(ConsumerPosition);
  rtl::NicFlow registers{.number = flow,
                         .tx_ring = memory.tx_ring,
                         .tx_position = memory.tx_position,
                         .tx_lines = options_.ring_lines,
                         .rx_ring = memory.rx_ring,
                         .rx_position = memory.rx_position,
                         .rx_lines = options_.ring_lines};
  for (const rtl::NicStore& store : rtl::nic_enable(registers)) set(store.address, store.value);
  set(rtl::nic_control(offsetof(ControlPage, flows_in_use)), ++flows_);
  CoherentLink* coherent = options_.interface == TxInterface::kCoherent ? &coherent_ : nullptr;
  return std::make_unique<NicPort>(options_, flow, memory, &host_, &nic_, coherent, core, window_, &begun_anew_);
}

void NicHostSide::advance() {
  coherent_.advance(now_);
  writes_.deliver(now_);
  if (options_.change_every != 0 && now_ >= next_change_) change();
}

// The soft configuration changes while lines are under way; each fourth time it becomes what the keys say.
void NicHostSide::change() {
  next_change_ = now_ + options_.change_every;
  if (flows_ == 0) return;  // the run has not begun
  uint64_t n = changes_++;
  auto control = [this](size_t offset, uint64_t value) {
    nic_.store64(static_cast<uint32_t>(rtl::nic_control(offset)), value);
  };
  bool other = n % 4 != 3;
  auto batch = batch_register(options_);
  auto poll = poll_register(options_);
  if (other) {
    batch = {.tx_lines = static_cast<uint8_t>(1 + n * 5 % rtl::nic::kMaxBatch),
             .adaptive = n % 2 == 0,
             .rx_lines = static_cast<uint8_t>(1 + n * 3 % rtl::nic::kMaxBatch),
             .rx_timeout = static_cast<uint16_t>(n * 37 % 200)};
    poll.threshold = n % 3 == 0 ? 0xffff : 0;  // through the cache alone, or past it
    poll.interval = static_cast<uint16_t>(n * 13 % 64);
    poll.ahead = static_cast<uint8_t>(1 + n % rtl::nic::kMaxAhead);
  }
  control(offsetof(ControlPage, batch), batch.encode());
  control(offsetof(ControlPage, poll), poll.encode());
  control(offsetof(ControlPage, flows_in_use), other ? 1 + n % flows_ : flows_);
}

Figures NicHostSide::figures() const {
  Figures all;
#define DROVER_COUNTER(name) all.emplace_back(#name, nic_.load64_now(rtl::nic_counter(offsetof(NicCounters, name))))
  DROVER_COUNTER(tx_lines);
  DROVER_COUNTER(rx_lines);
  DROVER_COUNTER(tx_no_room);
  DROVER_COUNTER(rx_refused);
  DROVER_COUNTER(reads);
  DROVER_COUNTER(reads_full);
  DROVER_COUNTER(reads_empty);
  DROVER_COUNTER(reads_direct);
  DROVER_COUNTER(waits);
  DROVER_COUNTER(bursts);
  DROVER_COUNTER(bursts_full);
  DROVER_COUNTER(positions_written);
#undef DROVER_COUNTER
  const CoherentCounters& coherent = coherent_.counters();
  if (options_.change_every != 0) all.emplace_back("changes", changes_);
  if (options_.synchronous() && !options_.reliable()) all.emplace_back("tx_rings_begun_anew", begun_anew_);
  all.emplace_back("coherent_reads", coherent.reads);
  all.emplace_back("coherent_hits", coherent.hits);
  all.emplace_back("invalidations", coherent.invalidations);
  all.emplace_back("endpoint_waits_ns", coherent.interval_waits / kNanosecond);
  all.emplace_back("port_stalls", writes_.stalls().cycles + (reads_ ? reads_->stalls().cycles : 0) +
                                      (coherent_reads_ ? coherent_reads_->stalls() : 0));
  return all;
}

uint64_t NicHostSide::violations() const {
  return writes_.violations() + (reads_ ? reads_->violations() : 0) +
         (coherent_reads_ ? coherent_reads_->violations() : 0);
}

void NicHostSide::set(size_t address, uint64_t value) {
  nic_.store64(static_cast<uint32_t>(address), value);
  while (!nic_.stores_done()) nic_.cycle();
}

}  // namespace drover::sim
