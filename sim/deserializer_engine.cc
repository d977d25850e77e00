#include "sim/deserializer_engine.h"

#include <Vdrover_deserializer.h>

#include <cstring>
#include <deque>
#include <iterator>
#include <vector>

#include "rtl/driver/schema_table.h"
#include "rtl/testing/axi_stream.h"
#include "rtl/testing/simulation.h"
#include "sim/axi_bridge.h"

namespace drover::sim {
namespace {

constexpr uint64_t kHostBus = uint64_t{3} << 36;  // where the TLB puts the region on the bus
constexpr uint32_t kChunk = 4096;
constexpr uint32_t kRunChunks = 1024;
constexpr uint64_t kDescriptors = uint64_t{7} << 32;  // on their bus
constexpr size_t kDescriptorBytes = size_t{4} << 20;  // what they hold does not matter: the schema table says it all
constexpr uint64_t kTlbPage = 2 << 20;
constexpr uint64_t kRecordBytes = 32;
constexpr uint64_t kRecordRing = uint64_t{5} << 36, kRecordRingBytes = 4096;  // where the host looks for them

// deser_pkg.sv has the record's layout.
uint64_t bits(const VlWide<8>& words, unsigned at, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    value |= uint64_t{words[(at + i) / 32] >> ((at + i) % 32) & 1} << i;
  }
  return value;
}

// Commands and wire bytes, each from its time on.
class Messages final : public rtl::Part {
 public:
  Messages(Vdrover_deserializer& top, const Time* now)
      : top_(top), now_(*now), stream_(DROVER_AXI_STREAM_INPUT(top, rx)) {}
  struct Message {
    Time at;
    uint16_t type;
    std::string_view wire;
    uint32_t cookie;
  };
  void send(const Message& message) { messages_.push_back(message); }

  void drive() override {
    if (!commanded_ && !messages_.empty() && messages_.front().at <= now_) {
      const Message& message = messages_.front();
      commanded_ = true;
      top_.cmd_type_i = message.type;
      top_.cmd_length_i = static_cast<IData>(message.wire.size());
      top_.cmd_cookie_i = message.cookie;
      stream_.send(message.wire);
      messages_.pop_front();
    }
    top_.cmd_valid_i = commanded_;
    stream_.drive();
  }
  void sample() override {
    if (commanded_ && top_.cmd_ready_o) commanded_ = false;
    stream_.sample();
  }

 private:
  Vdrover_deserializer& top_;
  const Time& now_;
  rtl::AxiStreamSource stream_;
  std::deque<Message> messages_;
  bool commanded_ = false;
};

// Chunks and runs of the region, in turn.
class FreeMemory final : public rtl::Part {
 public:
  FreeMemory(Vdrover_deserializer& top, const DeserializerSetup& setup)
      : top_(top), region_(setup.region), zero_(!setup.one_shot) {
    auto host = static_cast<uint32_t>(setup.host_bytes / kChunk);
    auto all = static_cast<uint32_t>(setup.region.size() / kChunk);
    for (uint32_t c = 1; c < host / 4; ++c) chunks_.push_back(c);
    for (uint32_t c = host / 4; c + kRunChunks <= host; c += kRunChunks) runs_.push_back(c);
    for (uint32_t c = host; c + kRunChunks <= all; c += kRunChunks) engine_runs_.push_back(c);
  }
  void drive() override {
    top_.chunk_valid_i = !chunks_.empty();
    top_.chunk_i = chunks_.empty() ? 0 : chunks_.front();
    top_.run_valid_i = !runs_.empty();
    top_.run_first_i = runs_.empty() ? 0 : runs_.front();
    top_.run_count_i = kRunChunks;
    top_.erun_valid_i = !engine_runs_.empty();
    top_.erun_first_i = engine_runs_.empty() ? 0 : engine_runs_.front();
    top_.erun_count_i = kRunChunks;
  }
  void sample() override {
    if (top_.chunk_valid_i && top_.chunk_ready_o) turn(chunks_, 1);
    if (top_.run_valid_i && top_.run_ready_o) turn(runs_, kRunChunks);
    if (top_.erun_valid_i && top_.erun_ready_o) turn(engine_runs_, 0);
  }

 private:
  void turn(std::deque<uint32_t>& list, uint32_t zeroed_chunks) {
    uint32_t first = list.front();
    list.pop_front();
    list.push_back(first);
    if (zero_) std::memset(region_.data() + size_t{first} * kChunk, 0, size_t{zeroed_chunks} * kChunk);
  }

  Vdrover_deserializer& top_;
  std::span<char> region_;
  bool zero_;
  std::deque<uint32_t> chunks_, runs_, engine_runs_;
};

}  // namespace

const char* left_to_software_name(uint8_t code) {
  static const char* const kNames[] = {"none",        "unknown_field", "split_run",   "merge",      "oneof_again",
                                       "map_entries", "closed_enum",   "object_size", "array_size", "has_bit",
                                       "no_run",      "packed_size",   "depth"};
  return code < std::size(kNames) ? kNames[code] : "?";
}

class DeserializerEngine::Parts {
 public:
  explicit Parts(const DeserializerSetup& setup)
      : setup_(setup),
        simulation_(&top_),
        messages_(top_, setup.now),
        free_(top_, setup),
        host_(DROVER_AXI_WRITE_PORT(top_, host), setup.link, setup.region.first(setup.host_bytes), kHostBus, setup.now,
              Ordering::kPosted),
        engine_(DROVER_AXI_WRITE_PORT(top_, hbm), setup.engine_link, setup.region.subspan(setup.host_bytes), 0,
                setup.now, Ordering::kArrived),
        descriptor_store_(kDescriptorBytes),
        descriptors_(DROVER_AXI_READ_PORT(top_, desc), setup.descriptor_link, descriptor_store_, kDescriptors,
                     setup.now) {
    auto host_chunks = static_cast<uint32_t>(setup.host_bytes / kChunk);
    top_.cfg_one_shot_i = setup.one_shot;
    top_.cfg_eager_i = setup.eager;
    top_.cfg_lanes_i = static_cast<CData>((1u << setup.lanes) - 1);
    top_.cfg_protoacc_i = setup.protoacc;
    top_.cfg_descriptors_i = kDescriptors;
    top_.cfg_depth_limit_i = 100;
    top_.cfg_host_base_i = 1;
    top_.cfg_host_limit_i = host_chunks;
    top_.cfg_engine_base_i = host_chunks;
    top_.cfg_engine_limit_i = static_cast<IData>(setup.region.size() / kChunk);
    top_.cmpl_ready_i = 1;
    simulation_.reset();
    for (uint32_t page = 0; page < setup.host_bytes / kTlbPage; ++page) {
      top_.tlb_valid_i = 1;
      top_.tlb_page_i = static_cast<SData>(page);
      top_.tlb_present_i = 1;
      top_.tlb_frame_i = kHostBus / kTlbPage + page;
      simulation_.cycle();
    }
    top_.tlb_valid_i = 0;
    for (rtl::Part* part :
         std::initializer_list<rtl::Part*>{&messages_, &free_, &host_, &engine_, &descriptors_, &watch_}) {
      simulation_.add(part);
    }
    for (int i = 0; i < 80; ++i) simulation_.cycle();  // the temp buffers are cleared
  }
  ~Parts() { top_.final(); }

  void load(const schema::Image& image) {
    for (const rtl::TableWord& word : rtl::schema_table_words(image)) {
      top_.load_valid_i = 1;
      top_.load_space_i = static_cast<CData>(word.space);
      top_.load_addr_i = word.address;
      top_.load_data_i = word.data;
      simulation_.cycle();
    }
    top_.load_valid_i = 0;
  }
  void cycle() { simulation_.cycle(); }
  // Looks at the handshakes of this cycle.
  class Watch final : public rtl::Part {
   public:
    explicit Watch(Parts* parts) : parts_(*parts) {}
    void drive() override {}
    void sample() override { parts_.look(); }

   private:
    Parts& parts_;
  };
  void look() {
    ports_.rx_valid = top_.rx_tvalid_i;
    ports_.rx_ready = top_.rx_tready_o;
    ports_.write_valid = top_.host_wvalid_o;
    ports_.write_ready = top_.host_wready_i;
    ports_.record = top_.cmpl_valid_o;
    if (ports_.rx_valid && !ports_.rx_ready) ++ports_.input_stalls;
    ports_.write_stalls = host_.stalls().cycles;
    ports_.descriptor_waits = descriptors_.waiting_cycles();
    if (top_.cmpl_valid_o) take_record();
  }
  void take_record() {
    const VlWide<8>& words = top_.cmpl_data_o;
    DeserializerRecord record{};
    record.type = static_cast<RecordType>(bits(words, 0, 4));
    record.code = static_cast<uint8_t>(bits(words, 8, 8));
    record.cookie = static_cast<uint32_t>(bits(words, 32, 32));
    record.root = bits(words, 64, 40);
    record.arrived = setup_.link->write(*setup_.now, kRecordBytes, record_at_).arrived;
    record_at_ = kRecordRing + (record_at_ + kRecordBytes) % kRecordRingBytes;
    if (record.type != RecordType::kChunk && callback_) callback_(record);
  }

  DeserializerSetup setup_;
  Vdrover_deserializer top_;
  rtl::Simulation<Vdrover_deserializer> simulation_;
  Messages messages_;
  FreeMemory free_;
  AxiWriteBridge host_, engine_;
  std::vector<char> descriptor_store_;
  AxiReadBridge descriptors_;
  Watch watch_{this};
  DeserializerPorts ports_;
  uint64_t record_at_ = kRecordRing;
  std::function<void(const DeserializerRecord&)> callback_;
};

DeserializerEngine::DeserializerEngine(const DeserializerSetup& setup) : parts_(std::make_unique<Parts>(setup)) {}
DeserializerEngine::~DeserializerEngine() = default;
void DeserializerEngine::load(const schema::Image& image) { parts_->load(image); }
void DeserializerEngine::send(Time at, uint32_t message_index, std::string_view wire, uint32_t cookie) {
  parts_->messages_.send({at, static_cast<uint16_t>(message_index), wire, cookie});
}
void DeserializerEngine::on_record(std::function<void(const DeserializerRecord&)> callback) {
  parts_->callback_ = std::move(callback);
}
void DeserializerEngine::cycle() { parts_->cycle(); }
void DeserializerEngine::deliver(Time time) {
  parts_->host_.deliver(time);
  parts_->engine_.deliver(time);
}
const DeserializerPorts& DeserializerEngine::ports() const { return parts_->ports_; }
uint64_t DeserializerEngine::violations() const {
  return parts_->host_.violations() + parts_->engine_.violations() + parts_->descriptors_.violations();
}

}  // namespace drover::sim
