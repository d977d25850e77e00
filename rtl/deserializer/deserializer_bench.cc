#include "rtl/deserializer/deserializer_bench.h"

#include <cstring>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "rtl/driver/schema_table.h"

namespace drover::rtl {

namespace {
constexpr uint64_t kHostBus = uint64_t{3} << 36;  // where the TLB puts the region on the bus
constexpr uint64_t kDescriptors = uint64_t{7} << 32;
constexpr uint32_t kChunk = 4096;

uint64_t bits(const VlWide<8>& words, unsigned at, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    unsigned bit = at + i;
    value |= uint64_t{words[bit / 32] >> (bit % 32) & 1} << i;
  }
  return value;
}
Record read_record(const VlWide<8>& words) {
  return {static_cast<RecordType>(bits(words, 0, 4)),  static_cast<uint8_t>(bits(words, 4, 4)),
          static_cast<uint8_t>(bits(words, 8, 8)),     static_cast<uint32_t>(bits(words, 32, 32)),
          static_cast<uint32_t>(bits(words, 104, 32)), bits(words, 64, 40),
          static_cast<uint32_t>(bits(words, 136, 28)), static_cast<uint32_t>(bits(words, 164, 28)),
          static_cast<uint32_t>(bits(words, 192, 12)), static_cast<uint32_t>(bits(words, 204, 28)),
          static_cast<uint32_t>(bits(words, 232, 12))};
}

std::string encoded(const schema::MessageType& type, const Message* object) {
  Encoded out;
  EncodeResult result = encode(type, object, {}, &out);
  if (!result.ok()) return "error: " + to_string(result);
  std::string bytes(out.size(), '\0');
  out.copy_to(bytes.data());
  return bytes;
}
}  // namespace

const char* left_to_software_reason(uint8_t code) {
  static const char* const kNames[] = {"none",        "unknown_field", "split_run",   "merge",      "oneof_again",
                                       "map_entries", "closed_enum",   "object_size", "array_size", "has_bit",
                                       "no_run",      "packed_size",   "depth"};
  return code < std::size(kNames) ? kNames[code] : "?";
}

namespace {
std::unique_ptr<Vdrover_deserializer> powered_up(uint64_t seed) {
  Verilated::defaultContextp()->randReset(seed == 0 ? 0 : 2);
  Verilated::defaultContextp()->randSeed(static_cast<int>(seed));
  return std::make_unique<Vdrover_deserializer>();
}
}  // namespace

// Commands, free memory and the taker of records.
class DeserializerBench::Feed final : public Part {
 public:
  Feed(DeserializerBench* bench, const BenchOptions& o)
      : bench_(*bench),
        top_(*bench->top_),
        cmd_stalls_(o.cmd_stalls, o.seed + 10),
        cmpl_stalls_(o.cmpl_stalls, o.seed + 11),
        free_stalls_(o.free_stalls, o.seed + 12) {
    uint32_t host_chunks = static_cast<uint32_t>(o.host_bytes / kChunk);
    // Chunk 0 stays out: its neighbours show what is written in front of it. A quarter for chunks, the rest for runs.
    for (uint32_t c = 1; c < host_chunks / 4; ++c) chunks_.push_back(c);
    for (uint32_t c = host_chunks / 4; c + o.run_chunks <= host_chunks; c += o.run_chunks) runs_.push_back(c);
    uint32_t engine = static_cast<uint32_t>(o.engine_bytes / kChunk);
    for (uint32_t c = 0; c + o.run_chunks <= engine; c += o.run_chunks) engine_runs_.push_back(host_chunks + c);
    run_chunks_ = o.run_chunks;
    if (o.bad_memory) {
      for (uint32_t& c : chunks_) c = c % 2 == 0 ? 0 : c + host_chunks;
      for (uint32_t& c : runs_) c += 1u << 24;
    }
  }
  struct Command {
    uint16_t type;
    uint32_t length, cookie;
  };
  std::deque<Command> commands;

  // A message's chunks come back once it has been compared.
  void take_back(const std::vector<uint32_t>& chunks) { chunks_.insert(chunks_.end(), chunks.begin(), chunks.end()); }

  void drive() override {
    if (!top_.cmd_valid_i || cmd_taken_) top_.cmd_valid_i = !commands.empty() && !cmd_stalls_.now();
    if (top_.cmd_valid_i && !commands.empty()) {
      top_.cmd_type_i = commands.front().type;
      top_.cmd_length_i = commands.front().length;
      top_.cmd_cookie_i = commands.front().cookie;
    }
    cmd_taken_ = false;
    top_.chunk_valid_i = !chunks_.empty() && (chunk_held_ || !free_stalls_.now());
    chunk_held_ = top_.chunk_valid_i;
    if (!chunks_.empty()) top_.chunk_i = chunks_.front();
    top_.run_valid_i = !runs_.empty();
    top_.run_first_i = runs_.empty() ? 0 : runs_.front();
    top_.run_count_i = run_chunks_;
    top_.erun_valid_i = !engine_runs_.empty();
    top_.erun_first_i = engine_runs_.empty() ? 0 : engine_runs_.front();
    top_.erun_count_i = run_chunks_;
    top_.cmpl_ready_i = !cmpl_stalls_.now();
  }
  void sample() override {
    if (top_.cmd_valid_i && top_.cmd_ready_o) {
      commands.pop_front();
      cmd_taken_ = true;
    }
    if (top_.chunk_valid_i && top_.chunk_ready_o) {
      // Field by field, the hardware writes what there is into chunks that the host has cleared.
      if (!bench_.options_.one_shot && !bench_.options_.bad_memory) {
        std::memset(bench_.memory_.data() + size_t{chunks_.front()} * kChunk, 0, kChunk);
      }
      chunks_.pop_front();
      chunk_held_ = false;
    }
    if (top_.run_valid_i && top_.run_ready_o) {
      runs_.push_back(runs_.front());
      runs_.pop_front();
    }
    if (top_.erun_valid_i && top_.erun_ready_o) {
      engine_runs_.push_back(engine_runs_.front());
      engine_runs_.pop_front();
    }
    if (top_.cmpl_valid_o && top_.cmpl_ready_i) bench_.take_record();
  }

 private:
  DeserializerBench& bench_;
  Vdrover_deserializer& top_;
  Stalls cmd_stalls_, cmpl_stalls_, free_stalls_;
  std::deque<uint32_t> chunks_, runs_, engine_runs_;
  uint32_t run_chunks_ = 0;
  bool cmd_taken_ = false, chunk_held_ = false;
};

DeserializerBench::DeserializerBench(const BenchOptions& options)
    : options_(options),
      top_(powered_up(options.power_up_seed)),
      sim_(top_.get()),
      memory_store_(options.host_bytes + options.engine_bytes + 64, options.one_shot ? '\xcc' : '\0') {
  auto at = reinterpret_cast<uintptr_t>(memory_store_.data());
  memory_ = std::span<char>(memory_store_).subspan((64 - at % 64) % 64, options.host_bytes + options.engine_bytes);
  descriptor_store_.resize(size_t{4} << 20);
  start();
}

void DeserializerBench::start() {
  const BenchOptions& options = options_;
  auto host_chunks = static_cast<uint32_t>(options.host_bytes / kChunk);
  top_->cfg_one_shot_i = options.one_shot;
  top_->cfg_eager_i = options.eager;
  top_->cfg_lanes_i = options.lanes;
  top_->cfg_depth_limit_i = static_cast<uint8_t>(options.depth_limit);
  top_->cfg_host_base_i = 1;
  top_->cfg_host_limit_i = host_chunks;
  top_->cfg_engine_base_i = host_chunks;
  top_->cfg_engine_limit_i = host_chunks + static_cast<uint32_t>(options.engine_bytes / kChunk);
  host_memory_ = std::make_unique<AxiWriteMemory>(DROVER_AXI_WRITE_PORT(*top_, host), memory_.first(options.host_bytes),
                                                  options.host, kHostBus);
  engine_memory_ = std::make_unique<AxiWriteMemory>(DROVER_AXI_WRITE_PORT(*top_, hbm),
                                                    memory_.subspan(options.host_bytes), options.engine, 0);
  top_->cfg_protoacc_i = options.protoacc;
  top_->cfg_descriptors_i = kDescriptors;
  descriptor_memory_ = std::make_unique<AxiReadMemory>(DROVER_AXI_READ_PORT(*top_, desc), descriptor_store_,
                                                       options.descriptors, kDescriptors);
  // Until the parts drive them; at power-up they are at random.
  top_->load_valid_i = top_->tlb_valid_i = top_->cmd_valid_i = top_->rx_tvalid_i = 0;
  top_->chunk_valid_i = top_->run_valid_i = top_->erun_valid_i = 0;
  top_->host_bvalid_i = top_->hbm_bvalid_i = top_->desc_rvalid_i = 0;
  rx_ = std::make_unique<AxiStreamSource>(DROVER_AXI_STREAM_INPUT(*top_, rx), Stalls(options.rx_stalls, options.seed));
  feed_ = std::make_unique<Feed>(this, options);
  sim_.reset();
  for (uint32_t page = 0; page < (options.host_bytes + 0x1fffff) >> 21; ++page) {
    top_->tlb_valid_i = 1;
    top_->tlb_page_i = page;
    top_->tlb_present_i = options.tlb_present;
    top_->tlb_frame_i = (kHostBus >> 21) + page;
    sim_.cycle();
  }
  top_->tlb_valid_i = 0;
  sim_.add(host_memory_.get());
  sim_.add(engine_memory_.get());
  sim_.add(descriptor_memory_.get());
  sim_.add(rx_.get());
  sim_.add(feed_.get());
  for (int i = 0; i < 80; ++i) sim_.cycle();  // the temp buffers are cleared
}

DeserializerBench::~DeserializerBench() = default;

void DeserializerBench::load_words(const std::vector<TableWord>& words) {
  for (const TableWord& word : words) {
    top_->load_valid_i = 1;
    top_->load_space_i = word.space;
    top_->load_addr_i = word.address;
    top_->load_data_i = word.data;
    sim_.cycle();
  }
  top_->load_valid_i = 0;
}
void DeserializerBench::load(const schema::Image& image) { load_words(schema_table_words(image)); }

void DeserializerBench::send(const Sent& sent, uint16_t type, uint32_t length, uint64_t holes) {
  feed_->commands.push_back({type, length, static_cast<uint32_t>(sent_.size())});
  sent_.push_back(sent);
  outcomes_.emplace_back();
  rx_->send(sent.wire, holes);
}
void DeserializerBench::add(const schema::MessageType& type, std::string_view wire) {
  send({type, wire}, static_cast<uint16_t>(type.index), static_cast<uint32_t>(wire.size()), 0);
}
void DeserializerBench::add_misframed(const schema::MessageType& type, std::string_view packet, uint32_t length,
                                      uint64_t holes) {
  send({.type = type, .wire = packet, .misframed = true}, static_cast<uint16_t>(type.index), length, holes);
}
void DeserializerBench::add_unknown(uint16_t type, std::string_view packet) {
  send({.type = {}, .wire = packet, .unknown = true}, type, static_cast<uint32_t>(packet.size()), 0);
}

void DeserializerBench::reset() {
  clear();
  chunks_of_.clear();
  sim_ = Simulation<Vdrover_deserializer>(top_.get());
  start();
}
void DeserializerBench::run_for(uint64_t cycles) {
  for (uint64_t i = 0; i < cycles; ++i) sim_.cycle();
}

void DeserializerBench::clear() {
  sent_.clear();
  outcomes_.clear();
  finished_ = 0;
}

bool DeserializerBench::run() {
  uint64_t began = sim_.cycles(), last = began;
  size_t seen = finished_;
  uint64_t patience = 20000;
  for (const Sent& sent : sent_) patience += sent.wire.size() * 16;
  while (finished_ < sent_.size()) {
    bool more = !rx_->idle();
    sim_.cycle();
    if (more) {
      last_word_ = sim_.cycles();
      beats_before_end_ = host_memory_->counts().beats;
    }
    if (finished_ != seen) {
      seen = finished_;
      last = sim_.cycles();
    }
    if (sim_.cycles() - last > patience) return false;
  }
  run_cycles_ = sim_.cycles() - began;
  return host_memory_->counts().violations == 0 && descriptor_memory_->counts().violations == 0 &&
         engine_memory_->counts().violations == 0;
}

void DeserializerBench::take_record() {
  Record record = read_record(top_->cmpl_data_o);
  std::vector<uint32_t>& chunks = chunks_of_[record.cookie];
  chunks.push_back(record.chunk);
  if (record.type == RecordType::kChunk) return;
  if (record.cookie >= outcomes_.size() || outcomes_[record.cookie].finished) {
    if (record.cookie < outcomes_.size()) outcomes_[record.cookie].difference = "a second record";
    return;
  }
  Outcome& outcome = outcomes_[record.cookie];
  outcome.finished = true;
  outcome.record = record;
  outcome.cycle = sim_.cycles();
  ++finished_;
  if (options_.compare) outcome.difference = compare(sent_[record.cookie], record);
  feed_->take_back(chunks);
  chunks_of_.erase(record.cookie);
}

std::string DeserializerBench::compare(const Sent& sent, const Record& record) const {
  bool error = record.type == RecordType::kError;
  if (sent.misframed) return error ? "" : "the packet is not as its command says, and the record is no error";
  if (error && record.code == kPacketLength) return "the packet is as its command says, the engine denies it";
  if (sent.unknown || (error && record.code == kUnknownType)) {
    bool right = sent.unknown && error && record.code == kUnknownType;
    return right ? "" : "an unknown type is no error, or a known one is";
  }
  if (record.type == RecordType::kSoftware) return "";
  Arena arena;
  auto* object = static_cast<Message*>(arena.allocate_zeroed(sent.type.entry().object_size));
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  DecodeOptions options;
  options.depth_limit = options_.depth_limit;
  DecodeResult result = decode(sent.type, object, sent.wire, arena, options);
  if (record.type == RecordType::kError) {
    if (record.code == kBadAddress || record.code == kReadRefused) return "";
    if (result.ok()) return "the engine says error " + std::to_string(record.code) + ", software takes it";
    auto said = static_cast<DecodeError>(record.code);
    if (said == result.error) return "";
    // Which of the two a packed field has first depends on how software reads it (codec/decode/decode_repeated.h).
    auto either = [](DecodeError e) { return e == DecodeError::truncated || e == DecodeError::overlong_varint; };
    if (either(said) && either(result.error)) return "";
    return "the engine says " + std::string(decode_error_name(said)) + ", software " + to_string(result);
  }
  if (!result.ok()) return "software says " + to_string(result) + ", the engine takes it";
  if (record.root % 8 != 0 || record.root >= options_.host_bytes) return "the root lies outside the region";
  const auto* got = reinterpret_cast<const Message*>(memory_.data() + record.root);
  if (*reinterpret_cast<const uint64_t*>(got) != kReceived) return "the root is not marked as received";
  std::string mine = encoded(sent.type, got), theirs = encoded(sent.type, object);
  if (mine == theirs) return "";
  size_t at = 0;
  while (at < mine.size() && at < theirs.size() && mine[at] == theirs[at]) ++at;
  return "objects differ: encoded, " + std::to_string(mine.size()) + " and " + std::to_string(theirs.size()) +
         " bytes, first at " + std::to_string(at) + (mine.starts_with("error") ? " " + mine : "");
}

}  // namespace drover::rtl
