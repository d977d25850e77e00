#include "sim/engines/nic/nic_engine.h"

#include "rtl/model/drover_nic.h"
#include "sim/engines/nic/nic_connections.h"
#include "sim/engines/nic/nic_host_side.h"
#include "sim/engines/nic/nic_options.h"

namespace drover::sim {
namespace {

class NicEngine final : public CallEngine {
 public:
  NicEngine(const NicOptions& options, HostNode* host, uint32_t window)
      : options_(options),
        host_(*host),
        nic_(rtl::DroverNic::make({.tx_interface = options.interface, .synchronous = options.synchronous()},
                                  options.transport)),
        host_side_(options_, host, nic_.get(), &now_, window),
        table_(nic_->table_read_port(), nic_->table_write_port(), host, &now_) {
    nic_->add(table_.reads());
    nic_->add(table_.writes());
    nic_->reset();
    host_side_.configure();
    configure_network(registers_, options_, host_.number(), table_.address());
  }

  Time period() const override { return options_.period(); }
  void tick() override {
    now_ = host_.timeline().now();
    table_.begin();
    cycle();
  }

  std::unique_ptr<LinePort> open_flow(uint8_t flow, Core* core) override { return host_side_.open_flow(flow, core); }
  void connect(const CallConnection& connection) override {
    std::string refused = open_connection(registers_, options_, host_.number(), connection);
    if (refused_.empty()) refused_ = refused;
  }

  void on_frame(std::function<void(Frame, uint64_t)> sent) override {
    nic_->on_frame([sent = std::move(sent)](rtl::NicFrame frame) {
      uint64_t key = key_of_frame(frame);
      sent(std::move(frame), key);
    });
  }
  void deliver(Frame frame) override { nic_->receive(std::move(frame)); }

  Figures figures() const override {
    Figures all = host_side_.figures();
    for (auto& figure : network_figures(registers_)) all.push_back(std::move(figure));
    return all;
  }
  std::string violation() const override {
    if (!refused_.empty()) return refused_;
    uint64_t broken = host_side_.violations() + table_.violations();
    if (broken != 0) return std::to_string(broken) + " bursts of the NIC broke the protocol or left the memory";
    if (nic_->stores_refused() != 0) return "the NIC refused a store of the host's";
    return "";
  }

 private:
  void cycle() {
    host_side_.advance();
    table_.advance();
    nic_->cycle();
  }

  const NicOptions options_;
  HostNode& host_;
  Time now_ = 0;
  std::unique_ptr<rtl::DroverNic> nic_;
  NicHostSide host_side_;
  ConnectionTable table_;
  std::string refused_;  // a connection that could not be opened
  const NetworkRegisterPort registers_{
      .write =
          [this](size_t offset, uint64_t value) {
            nic_->store64(rtl::nic::kNetworkAt + static_cast<uint32_t>(offset), value);
            while (!nic_->stores_done()) cycle();
          },
      .read =
          [this](size_t offset) {
            uint64_t value = 0;
            bool there = false;
            nic_->load64(rtl::nic::kNetworkAt + static_cast<uint32_t>(offset),
                         [&](uint64_t word) { value = word, there = true; });
            while (!there) cycle();
            return value;
          },
  };
};

}  // namespace

EngineType nic_engine() {
  EngineType type;
  type.kind = "line_nic";
  type.meaning = "the NIC in RTL, for calls";
  type.by = "NIC";
  type.make_options = [] { return std::make_unique<NicOptions>(); };
  type.make_for_calls = [](const CallEngineSetup& setup) {
    return std::make_unique<NicEngine>(static_cast<const NicOptions&>(setup.options), setup.host, setup.window);
  };
  return type;
}

}  // namespace drover::sim
