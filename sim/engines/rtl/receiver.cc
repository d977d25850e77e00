#include "sim/engines/rtl/receiver.h"

#include <deque>
#include <vector>

#include "rtl/model/deserializer.h"
#include "sim/platform/axi_bridge.h"

namespace drover::sim {
namespace {

constexpr uint32_t kRunChunks = 1024;
constexpr size_t kDescriptorBytes = size_t{4} << 20;  // their contents do not matter: the schema table decides
constexpr uint64_t kRecordRing = uint64_t{5} << 36, kRecordRingBytes = 4096;  // where the host looks for them

rtl::DeserializerConfig device_config(const ReceiverSetup& setup) {
  rtl::DeserializerConfig config;
  config.one_shot = setup.one_shot;
  config.eager = setup.eager;
  config.protoacc = setup.protoacc;
  config.lanes = static_cast<uint8_t>((1u << setup.lanes) - 1);
  config.host_bytes = setup.host_bytes;
  config.engine_bytes = setup.region.size() - setup.host_bytes;
  return config;
}

// A quarter of host memory for chunks, the rest for runs.
rtl::FreeMemory free_memory(const ReceiverSetup& setup) {
  rtl::FreeMemory free;
  auto host = static_cast<uint32_t>(setup.host_bytes / rtl::kChunkBytes);
  auto all = static_cast<uint32_t>(setup.region.size() / rtl::kChunkBytes);
  for (uint32_t c = 1; c < host / 4; ++c) free.chunks.push_back({c, 1});
  for (uint32_t c = host / 4; c + kRunChunks <= host; c += kRunChunks) free.runs.push_back({c, kRunChunks});
  for (uint32_t c = host; c + kRunChunks <= all; c += kRunChunks) free.engine_runs.push_back({c, kRunChunks});
  return free;
}

}  // namespace

class RtlReceiver::Parts final : public rtl::Part {
 public:
  explicit Parts(const ReceiverSetup& setup)
      : setup_(setup),
        device_(device_config(setup)),
        host_(device_.host_port(), setup.link, setup.region.first(setup.host_bytes), rtl::Deserializer::kHostBus,
              setup.now, Ordering::kPosted),
        engine_(device_.engine_port(), setup.engine_link, setup.region.subspan(setup.host_bytes), 0, setup.now,
                Ordering::kArrived),
        descriptor_store_(kDescriptorBytes),
        descriptors_(device_.descriptor_port(), setup.descriptor_link, descriptor_store_,
                     rtl::Deserializer::kDescriptors, setup.now) {
    for (rtl::Part* part : std::initializer_list<rtl::Part*>{&host_, &engine_, &descriptors_, this}) device_.add(part);
    device_.on_taken([this](rtl::FreeKind kind, rtl::ChunkRun run) { taken(kind, run); });
    device_.on_record([this](const rtl::DeserializerRecord& record) { send_record(record); });
    device_.reset(free_memory(setup));
  }

  void load(const schema::Image& image) { device_.load(image); }
  // One message at a time is at the engine's door.
  void cycle() {
    if (device_.commands_taken() && !messages_.empty() && messages_.front().at <= *setup_.now) {
      const Message& message = messages_.front();
      device_.send({message.type, static_cast<uint32_t>(message.wire.size()), message.cookie});
      device_.packets().send(message.wire);
      messages_.pop_front();
    }
    device_.cycle();
  }

  // Looks at the handshakes of this cycle.
  void drive() override {}
  void sample() override {
    const Vdrover_deserializer& top = device_.top();
    ports_.rx_valid = top.rx_tvalid_i;
    ports_.rx_ready = top.rx_tready_o;
    ports_.write_valid = top.host_wvalid_o;
    ports_.write_ready = top.host_wready_i;
    ports_.record = top.cmpl_valid_o;
    if (ports_.rx_valid && !ports_.rx_ready) ++ports_.input_stalls;
    ports_.write_stalls = host_.stalls().cycles;
    ports_.descriptor_waits = descriptors_.waiting_cycles();
  }
  // Free memory is used in rotation.
  void taken(rtl::FreeKind kind, rtl::ChunkRun run) {
    bool cleared = !setup_.one_shot && kind != rtl::FreeKind::kEngineRun;
    if (cleared) {
      std::memset(setup_.region.data() + size_t{run.first} * rtl::kChunkBytes, 0, size_t{run.count} * rtl::kChunkBytes);
    }
    device_.give(kind, run);
  }
  void send_record(const rtl::DeserializerRecord& record) {
    if (!setup_.records_to_host) {
      if (record.kind != rtl::RecordKind::kChunk && callback_) callback_({record, *setup_.now});
      return;
    }
    Time arrived = setup_.link->write(*setup_.now, rtl::kRecordBytes, record_at_).arrived;
    record_at_ = kRecordRing + (record_at_ + rtl::kRecordBytes) % kRecordRingBytes;
    if (record.kind != rtl::RecordKind::kChunk && callback_) callback_({record, arrived});
  }

  struct Message {
    Time at;
    uint16_t type;
    std::string_view wire;
    uint32_t cookie;
  };
  ReceiverSetup setup_;
  rtl::Deserializer device_;
  AxiWriteBridge host_, engine_;
  std::vector<char> descriptor_store_;
  AxiReadBridge descriptors_;
  std::deque<Message> messages_;
  ReceiverPorts ports_;
  uint64_t record_at_ = kRecordRing;
  std::function<void(const ArrivedRecord&)> callback_;
};

RtlReceiver::RtlReceiver(const ReceiverSetup& setup) : parts_(std::make_unique<Parts>(setup)) {}
RtlReceiver::~RtlReceiver() = default;
void RtlReceiver::load(const schema::Image& image) { parts_->load(image); }
void RtlReceiver::send(Time at, uint32_t message_index, std::string_view wire, uint32_t cookie) {
  parts_->messages_.push_back({at, static_cast<uint16_t>(message_index), wire, cookie});
}
void RtlReceiver::on_record(std::function<void(const ArrivedRecord&)> callback) {
  parts_->callback_ = std::move(callback);
}
void RtlReceiver::cycle() { parts_->cycle(); }
void RtlReceiver::deliver(Time time) {
  parts_->host_.deliver(time);
  parts_->engine_.deliver(time);
}
const ReceiverPorts& RtlReceiver::ports() const { return parts_->ports_; }
uint64_t RtlReceiver::violations() const {
  return parts_->host_.violations() + parts_->engine_.violations() + parts_->descriptors_.violations();
}

}  // namespace drover::sim
