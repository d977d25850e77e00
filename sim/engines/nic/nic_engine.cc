#include "sim/engines/nic/nic_engine.h"

#include <bit>
#include <optional>
#include <unordered_map>

#include "sim/engines/nic/coherent_bridge.h"
#include "sim/engines/nic/nic_options.h"
#include "sim/engines/nic/nic_port.h"
#include "sim/platform/axi_bridge.h"

namespace drover::sim {
namespace {

using rtl::nic::BalancePolicy;
using rtl::nic::ControlPage;
using rtl::nic::FlowRegisters;
using rtl::nic::NicCounters;
using rtl::nic::TxInterface;

constexpr CData kRingReads = 0;  // the id of reads of TX rings (rtl/nic/nic_host.sv)

class NicEngine final : public CallEngine {
 public:
  NicEngine(const NicOptions& options, HostNode* host)
      : options_(options),
        host_(*host),
        nic_(rtl::Nic::make({.tx_interface = options.interface})),
        coherent_(host->coherent(), host->memory(), &host->endpoint(),
                  [this](uint64_t address) { nic_->snoop(address); }),
        writes_(nic_->write_port(), &host->link(), host->memory(), 0, &now_, Ordering::kPosted) {
    if (options_.interface == TxInterface::kCoherent) {
      coherent_reads_.emplace(nic_->read_port(), nic_->read_cached(), kRingReads, &coherent_, &host->link(),
                              host->memory(), &now_);
      nic_->add(&*coherent_reads_);
    } else {
      reads_.emplace(nic_->read_port(), &host->link(), host->memory(), 0, &now_);
      nic_->add(&*reads_);
    }
    nic_->add(&writes_);
    nic_->reset();
    configure();
  }

  Time period() const override { return options_.period(); }
  void tick() override {
    now_ = host_.timeline().now();
    coherent_.advance(now_);
    writes_.deliver(now_);
    nic_->cycle();
  }

  std::unique_ptr<LinePort> open_flow(uint8_t flow, Core* core) override {
    uint64_t ring = uint64_t{options_.ring_lines} * sizeof(Slot);
    FlowMemory memory{host_.allocate(ring), 0, host_.allocate(ring), 0};
    memory.tx_position = host_.allocate(2 * sizeof(ConsumerPosition));
    memory.rx_position = memory.tx_position + sizeof(ConsumerPosition);
    auto ring_register = [this](uint64_t offset) {
      return rtl::nic::RingRegister{.lines_log = static_cast<uint8_t>(std::countr_zero(options_.ring_lines)),
                                    .page = offset / rtl::nic::kRingAlign}
          .encode();
    };
    uint32_t at = static_cast<uint32_t>(rtl::nic::kFlowRegistersAt + flow * sizeof(FlowRegisters));
    set(at + offsetof(FlowRegisters, tx_ring), ring_register(memory.tx_ring));
    set(at + offsetof(FlowRegisters, tx_position), memory.tx_position);
    set(at + offsetof(FlowRegisters, rx_ring), ring_register(memory.rx_ring));
    set(at + offsetof(FlowRegisters, rx_position), memory.rx_position);
    set(at + offsetof(FlowRegisters, control), rtl::nic::FlowControl{.tx = true, .rx = true}.encode());
    set(rtl::nic::kControlAt + offsetof(ControlPage, flows_in_use), ++flows_);
    CoherentLink* coherent = options_.interface == TxInterface::kCoherent ? &coherent_ : nullptr;
    return std::make_unique<NicPort>(options_, flow, memory, &host_, nic_.get(), coherent, core);
  }
  void connect(uint16_t connection, uint8_t flow) override { flow_of_[connection] = flow; }

  void on_line(std::function<void(const NetworkLine&)> sent) override {
    nic_->on_line([sent = std::move(sent)](const rtl::NicLine& line) { sent({line.line, line.flow}); });
  }
  void deliver(const LineSlot& line, std::function<void(bool)> taken) override {
    auto flow = flow_of_.find(line.connection);
    if (flow == flow_of_.end()) {
      ++unknown_connections_;
      return taken(false);
    }
    // A response goes back to the flow that its call came from.
    bool response = (line.flags & kLineResponse) != 0;
    nic_->offer({line, flow->second, response ? BalancePolicy::kConnectionFlow : options_.balance}, std::move(taken));
  }

  Figures figures() const override;
  std::string violation() const override {
    uint64_t broken = writes_.violations() + (reads_ ? reads_->violations() : 0) +
                      (coherent_reads_ ? coherent_reads_->violations() : 0);
    if (broken != 0) return std::to_string(broken) + " bursts of the NIC broke the protocol or left the memory";
    if (nic_->stores_refused() != 0) return "the NIC refused a store of the host's";
    return "";
  }

 private:
  void set(uint32_t address, uint64_t value) {
    nic_->store64(address, value);
    while (!nic_->stores_done()) nic_->cycle();
  }
  void configure() {
    auto control = [this](size_t offset, uint64_t value) {
      set(static_cast<uint32_t>(rtl::nic::kControlAt + offset), value);
    };
    control(offsetof(ControlPage, batch),
            rtl::nic::BatchRegister{.tx_lines = static_cast<uint8_t>(std::min(options_.batch, rtl::nic::kMaxBatch)),
                                    .adaptive = options_.adaptive,
                                    .rx_lines = static_cast<uint8_t>(options_.rx_batch),
                                    .rx_timeout = static_cast<uint16_t>(options_.rx_timeout)}
                .encode());
    control(offsetof(ControlPage, poll),
            rtl::nic::PollRegister{.threshold = static_cast<uint16_t>(options_.threshold),
                                   .window = static_cast<uint16_t>(options_.threshold_window),
                                   .interval = static_cast<uint16_t>(options_.interval),
                                   .ahead = static_cast<uint8_t>(options_.ahead)}
                .encode());
    control(offsetof(ControlPage, interval),
            rtl::nic::IntervalRegister{.publish = static_cast<uint16_t>(options_.publish),
                                       .look = static_cast<uint16_t>(options_.look),
                                       .refresh = 0}
                .encode());
    control(offsetof(ControlPage, key), rtl::nic::KeyRegister{.offset = static_cast<uint8_t>(options_.key_offset),
                                                              .length = static_cast<uint8_t>(options_.key_length)}
                                            .encode());
  }

  const NicOptions options_;
  HostNode& host_;
  Time now_ = 0;
  std::unique_ptr<rtl::Nic> nic_;
  CoherentLink coherent_;
  AxiWriteBridge writes_;
  std::optional<AxiReadBridge> reads_;
  std::optional<CoherentReadBridge> coherent_reads_;
  std::unordered_map<uint16_t, uint8_t> flow_of_;  // by connection; stands for the connection manager
  uint64_t flows_ = 0, unknown_connections_ = 0;
};

Figures NicEngine::figures() const {
  Figures all;
  auto counter = [&](const char* name, size_t offset) {
    all.emplace_back(name, nic_->load64_now(static_cast<uint32_t>(rtl::nic::kCountersAt + offset)));
  };
#define DROVER_COUNTER(name) counter(#name, offsetof(NicCounters, name))
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
  all.emplace_back("coherent_reads", coherent.reads);
  all.emplace_back("coherent_hits", coherent.hits);
  all.emplace_back("invalidations", coherent.invalidations);
  all.emplace_back("endpoint_waits_ns", coherent.interval_waits / kNanosecond);
  all.emplace_back("port_stalls", writes_.stalls().cycles + (reads_ ? reads_->stalls().cycles : 0) +
                                      (coherent_reads_ ? coherent_reads_->stalls() : 0));
  all.emplace_back("unknown_connections", unknown_connections_);
  return all;
}

}  // namespace

EngineType nic_engine() {
  EngineType type;
  type.kind = "line_nic";
  type.meaning = "the NIC in RTL, for calls";
  type.by = "NIC";
  type.make_options = [] { return std::make_unique<NicOptions>(); };
  type.make_for_calls = [](const EngineOptions& options, HostNode* host) {
    return std::make_unique<NicEngine>(static_cast<const NicOptions&>(options), host);
  };
  return type;
}

}  // namespace drover::sim
