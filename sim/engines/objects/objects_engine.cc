#include "sim/engines/objects/objects_engine.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "rtl/model/network_half.h"
#include "rtl/model/nic.h"
#include "sim/engines/nic/nic_connections.h"
#include "sim/engines/nic/nic_host_side.h"
#include "sim/engines/objects/object_unit.h"
#include "sim/engines/objects/objects_options.h"
#include "sim/platform/host_images.h"
#include "sim/platform/inbox.h"

namespace drover::sim {
namespace {

// The deserializer's region: host memory for objects, then the card's own.
constexpr size_t kHostRegion = size_t{128} << 20, kEngineRegion = size_t{32} << 20;
constexpr size_t kWireBytes = size_t{1} << 20, kWireAlign = 64;  // a ring of buffers for what is left to software
constexpr uint64_t kWireBus = uint64_t{6} << 36;
constexpr size_t kLinesWaiting = 8;   // of a flow, to the network
constexpr size_t kLinesToHost = 256;  // of all flows together; then no more come from the network
constexpr int kAfterRefusal = 16;     // cycles until a flow without room is tried again

// Lines to the host half: a line a cycle, flows in turn, one without room does not stop the others.
class ToHost {
 public:
  explicit ToHost(rtl::Nic* nic) : nic_(*nic) {}
  void add(const rtl::NicLine& line) {
    flows_[line.flow].lines.push_back(line);
    ++waiting_;
  }
  size_t waiting() const { return waiting_; }
  // Before a cycle of the host half.
  void offer() {
    for (Flow& flow : flows_) flow.rests -= flow.rests != 0 ? 1 : 0;
    if (nic_.offered() != 0) return;
    for (size_t i = 1; i <= flows_.size(); ++i) {
      size_t at = (turn_ + i) % flows_.size();
      Flow& flow = flows_[at];
      if (flow.lines.empty() || flow.rests != 0) continue;
      turn_ = at;
      return nic_.offer(flow.lines.front(), [this, &flow](bool taken) {
        if (!taken) {
          flow.rests = kAfterRefusal;
          return;
        }
        flow.lines.pop_front();
        --waiting_;
      });
    }
  }

 private:
  struct Flow {
    std::deque<rtl::NicLine> lines;
    int rests = 0;
  };
  rtl::Nic& nic_;
  std::array<Flow, rtl::NicDevice::kFlows> flows_;
  size_t turn_ = 0, waiting_ = 0;
};

class ObjectsEngine final : public CallEngine, public ObjectPort {
 public:
  // `window`: CallShape's.
  ObjectsEngine(const ObjectsOptions& options, const NicOptions& nic_options, HostNode* host, uint32_t window);

  Time period() const override { return nic_options_.period(); }
  void tick() override;

  std::unique_ptr<LinePort> open_flow(uint8_t flow, Core* core) override { return host_side_.open_flow(flow, core); }
  void connect(const CallConnection& connection) override {
    std::string refused = open_connection(registers_, nic_options_, host_.number(), connection);
    if (error_.empty()) error_ = refused;
  }
  void on_frame(std::function<void(Frame, uint64_t)> sent) override {
    net_->on_frame([sent = std::move(sent)](rtl::NicFrame frame) {
      uint64_t key = key_of_frame(frame);
      sent(std::move(frame), key);
    });
  }
  void deliver(Frame frame) override { net_->receive(std::move(frame)); }
  Figures figures() const override;
  std::string violation() const override;

  // ---- the host's programs
  ObjectPort* objects() override { return messages_.size() == 0 ? nullptr : this; }
  std::vector<std::byte> hand_over(uint32_t message, Core* core) override;
  ReceivedMessage take(std::span<const std::byte> arguments) override;

 private:
  uint64_t keep_wire(const std::string& wire);
  void cycle_network();
  uint64_t network_request(bool write, size_t offset, uint64_t value);

  const ObjectsOptions options_;
  const NicOptions nic_options_;
  HostNode& host_;
  const CallMessages& messages_;
  Time now_ = 0, codec_next_ = 0;
  std::string error_;
  std::unique_ptr<rtl::Nic> nic_;
  std::unique_ptr<rtl::NetworkHalf> net_;
  NicHostSide host_side_;
  ConnectionTable table_;
  NetworkRegisterPort registers_;
  ToHost to_host_;
  AlignedBytes region_, wires_;
  uint64_t wires_used_ = 0;
  PreparedHost prepared_;
  Link card_memory_, descriptors_;
  Inbox inbox_;
  std::optional<RtlReceiver> receiver_;
  std::optional<RtlSender> sender_;
  std::optional<ObjectUnit> unit_;
};

ObjectsEngine::ObjectsEngine(const ObjectsOptions& options, const NicOptions& nic_options, HostNode* host,
                             uint32_t window)
    : options_(options),
      nic_options_(nic_options),
      host_(*host),
      messages_(host->messages()),
      nic_(rtl::Nic::make({.tx_interface = nic_options.interface, .synchronous = nic_options.synchronous()})),
      net_(rtl::NetworkHalf::make()),
      host_side_(nic_options_, host, nic_.get(), &now_, window),
      table_(net_->table_read_port(), net_->table_write_port(), host, &now_),
      registers_{.write = [this](size_t offset, uint64_t value) { network_request(true, offset, value); },
                 .read = [this](size_t offset) { return network_request(false, offset, 0); }},
      to_host_(nic_.get()),
      region_(kHostRegion + kEngineRegion),
      wires_(kWireBytes),
      card_memory_({.one_way = 60 * kNanosecond, .bandwidth = 14.4e9}),
      descriptors_({.one_way = 60 * kNanosecond, .bandwidth = 14.4e9}),
      inbox_({}, 0) {
  net_->add(table_.reads());
  net_->add(table_.writes());
  net_->on_line([](const rtl::NicLine&) {});
  nic_->reset();
  net_->reset();
  host_side_.configure();
  configure_network(registers_, nic_options_, host_.number(), table_.address());
  if (messages_.size() == 0) {  // lines alone
    nic_->on_line([this](const rtl::NicLine& line) { net_->send(line.line, line.flow); });
    net_->on_line([this](const rtl::NicLine& line) { to_host_.add(line); });
    return;
  }
  const HandoverOptions& handover = host_.platform().handover;
  prepared_ = prepare_host(handover, messages_.workload, {});
  error_ = prepared_.error;
  receiver_.emplace(ReceiverSetup{.one_shot = handover.one_shot,
                                  .eager = options_.eager,
                                  .protoacc = options_.protoacc,
                                  .lanes = static_cast<unsigned>(options_.lanes),
                                  .region = region_.bytes(),
                                  .host_bytes = kHostRegion,
                                  .link = &host_.link(),
                                  .engine_link = &card_memory_,
                                  .descriptor_link = &descriptors_,
                                  .now = &now_,
                                  .records_to_host = false});
  sender_.emplace(SenderSetup{.host = prepared_.host(),
                              .engine = prepared_.engine_port(),
                              .pushed_from = prepared_.engine_bytes,
                              .link = &host_.link(),
                              .inbox = &inbox_,
                              .engine_link = &card_memory_,
                              .now = &now_});
  const schema::Image& image = messages_.workload.groups[messages_.at(0).group].image.image();
  receiver_->load(image);
  sender_->load(image);
  unit_.emplace(ObjectUnitSetup{.messages = messages_,
                                .limit = options_.messages,
                                .receiver = &*receiver_,
                                .sender = &*sender_,
                                .now = &now_,
                                .to_network = [this](const rtl::NicLine& line) { net_->send(line.line, line.flow); },
                                .to_host = [this](const rtl::NicLine& line) { to_host_.add(line); },
                                .keep_wire = [this](const std::string& wire) { return keep_wire(wire); }});
  nic_->on_line([this](const rtl::NicLine& line) { unit_->from_host(line); });
  net_->on_line([this](const rtl::NicLine& line) { unit_->from_network(line); });
}

void ObjectsEngine::tick() {
  now_ = host_.timeline().now();
  table_.begin();
  host_side_.advance();
  bool takes = true, from_network = true;
  if (unit_) {
    receiver_->deliver(now_);
    // The codec has a clock of its own; it stands still while it has nothing to do.
    if (codec_next_ + options_.period() < now_) codec_next_ = now_;
    for (; codec_next_ <= now_; codec_next_ += options_.period()) {
      if (unit_->receiving()) receiver_->cycle();
      if (unit_->sending()) sender_->cycle();
    }
    takes = unit_->takes_from_host();
    from_network = unit_->takes_from_network();
  }
  uint64_t allowed = 0;
  for (uint8_t flow = 0; takes && flow < rtl::NetworkHalf::kFlows; ++flow) {
    allowed |= uint64_t{net_->waiting(flow) < kLinesWaiting} << flow;
  }
  nic_->allow(allowed);
  net_->hold(!from_network || to_host_.waiting() >= kLinesToHost);
  to_host_.offer();
  nic_->cycle();
  cycle_network();
}

void ObjectsEngine::cycle_network() {
  table_.advance();
  net_->cycle();
}

uint64_t ObjectsEngine::network_request(bool write, size_t offset, uint64_t value) {
  net_->request(write, static_cast<uint16_t>(offset), value);
  while (!net_->answered()) cycle_network();
  return net_->answer();
}

uint64_t ObjectsEngine::keep_wire(const std::string& wire) {
  if (wire.size() > kWireBytes - wires_used_) wires_used_ = 0;
  uint64_t at = wires_used_;
  std::copy(wire.begin(), wire.end(), wires_.bytes().begin() + static_cast<std::ptrdiff_t>(at));
  wires_used_ += (wire.size() + kWireAlign - 1) / kWireAlign * kWireAlign;
  host_.link().write(now_, wire.size(), kWireBus + at);
  return at;
}

std::vector<std::byte> ObjectsEngine::hand_over(uint32_t message, Core* core) {
  const PreparedMessage& prepared = prepared_.messages[message];
  const SendSource& source = prepared.source;
  if (!source.walk) core->spend(Work::kCodec, messages_.costs[message].preserialize);
  return ObjectLine{.kind = source.walk ? ObjectKind::kObject : ObjectKind::kStream,
                    .type = static_cast<uint16_t>(source.message_index),
                    .bytes = source.record_bytes,
                    .at = source.records,
                    .payload = source.payload,
                    .payload_bytes = source.payload_bytes}
      .arguments();
}

ReceivedMessage ObjectsEngine::take(std::span<const std::byte> arguments) {
  ObjectLine line;
  ReceivedMessage out;
  if (!ObjectLine::parse(arguments, &line)) {
    out.error = "not a line that stands for a message";
  } else if (line.kind == ObjectKind::kError) {
    out.error = "the NIC says that it is no message of its type, error " + std::to_string(line.code);
  } else if (line.kind == ObjectKind::kWire) {
    out.wire = {wires_.bytes().data() + line.at, line.bytes};
  } else if (line.kind != ObjectKind::kObject || line.at % 8 != 0 || line.at >= kHostRegion) {
    out.error = "the object lies outside of the region";
  } else {
    out.object = reinterpret_cast<const Message*>(region_.bytes().data() + line.at);
  }
  return out;
}

Figures ObjectsEngine::figures() const {
  Figures all = host_side_.figures();
  for (auto& figure : network_figures(registers_)) all.push_back(std::move(figure));
  if (!unit_) return all;
  for (auto& figure : unit_->figures()) all.push_back(std::move(figure));
  return all;
}

std::string ObjectsEngine::violation() const {
  if (!error_.empty()) return error_;
  if (unit_ && !unit_->error().empty()) return unit_->error();
  uint64_t broken = host_side_.violations() + table_.violations();
  if (unit_) broken += receiver_->violations() + sender_->violations();
  if (broken != 0) return std::to_string(broken) + " bursts of the NIC broke the protocol or left the memory";
  if (nic_->stores_refused() != 0) return "the NIC refused a store of the host's";
  return "";
}

}  // namespace

EngineType objects_engine() {
  EngineType type;
  type.kind = "object_nic";
  type.meaning = "the NIC in RTL with deserializer and serializer, for calls";
  type.by = "NIC";
  type.base = "line_nic";
  type.make_options = [] { return std::make_unique<ObjectsOptions>(); };
  type.make_for_calls = [](const CallEngineSetup& setup) {
    return std::make_unique<ObjectsEngine>(static_cast<const ObjectsOptions&>(setup.options),
                                           static_cast<const NicOptions&>(*setup.base), setup.host, setup.window);
  };
  return type;
}

}  // namespace drover::sim
