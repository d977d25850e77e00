#include "rtl/testing/deserializer_bench.h"

#include <cstring>

#include "codec/decode/decode.h"
#include "codec/decode/decode_types.h"
#include "codec/encode/encode.h"

namespace drover::rtl {
namespace {

constexpr size_t kDescriptorBytes = size_t{4} << 20;

DeserializerConfig device_config(const BenchOptions& o) {
  DeserializerConfig config;
  config.one_shot = o.one_shot;
  config.eager = o.eager;
  config.protoacc = o.protoacc;
  config.lanes = o.lanes;
  config.depth_limit = static_cast<uint8_t>(o.depth_limit);
  config.host_bytes = o.host_bytes;
  config.engine_bytes = o.engine_bytes;
  config.tlb_present = o.tlb_present;
  config.power_up = {o.power_up_seed != 0, o.power_up_seed};
  config.packet_stall = Stalls(o.rx_stalls, o.seed);
  config.command_stall = Stalls(o.cmd_stalls, o.seed + 10);
  config.record_stall = Stalls(o.cmpl_stalls, o.seed + 11);
  config.chunk_stall = Stalls(o.free_stalls, o.seed + 12);
  return config;
}

std::span<char> aligned(std::vector<char>& store) {
  auto at = reinterpret_cast<uintptr_t>(store.data());
  return std::span<char>(store).subspan((64 - at % 64) % 64, store.size() - 64);
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

DeserializerBench::DeserializerBench(const BenchOptions& options)
    : options_(options),
      device_(device_config(options)),
      memory_store_(options.host_bytes + options.engine_bytes + 64, options.one_shot ? '\xcc' : '\0'),
      memory_(aligned(memory_store_)),
      descriptor_store_(kDescriptorBytes),
      host_memory_(device_.host_port(), memory_.first(options.host_bytes), options.host.writes(),
                   Deserializer::kHostBus),
      engine_memory_(device_.engine_port(), memory_.subspan(options.host_bytes), options.engine.writes()),
      descriptor_memory_(device_.descriptor_port(), descriptor_store_, options.descriptors.reads(),
                         Deserializer::kDescriptors) {
  for (Part* part : {static_cast<Part*>(&host_memory_), static_cast<Part*>(&engine_memory_),
                     static_cast<Part*>(&descriptor_memory_)}) {
    device_.add(part);
  }
  device_.on_taken([this](FreeKind kind, ChunkRun run) { taken(kind, run); });
  device_.on_record([this](const DeserializerRecord& record) { take_record(record); });
  device_.reset(free_memory());
}

// Chunk 0 stays out: its neighbours show what is written in front of it. A quarter is for chunks, the rest for runs.
FreeMemory DeserializerBench::free_memory() const {
  FreeMemory free;
  auto host = static_cast<uint32_t>(options_.host_bytes / kChunkBytes);
  auto engine = static_cast<uint32_t>(options_.engine_bytes / kChunkBytes);
  uint32_t run = options_.run_chunks;
  for (uint32_t c = 1; c < host / 4; ++c) free.chunks.push_back({c, 1});
  for (uint32_t c = host / 4; c + run <= host; c += run) free.runs.push_back({c, run});
  for (uint32_t c = 0; c + run <= engine; c += run) free.engine_runs.push_back({host + c, run});
  if (options_.bad_memory) {
    for (ChunkRun& c : free.chunks) c.first = c.first % 2 == 0 ? 0 : c.first + host;
    for (ChunkRun& r : free.runs) r.first += 1u << 24;
  }
  return free;
}

void DeserializerBench::taken(FreeKind kind, ChunkRun run) {
  if (kind != FreeKind::kChunk) return device_.give(kind, run);  // in turn
  // Field by field, the hardware writes only the fields that are set, into chunks that the host has cleared.
  if (!options_.one_shot && !options_.bad_memory) {
    std::memset(memory_.data() + size_t{run.first} * kChunkBytes, 0, kChunkBytes);
  }
}

void DeserializerBench::send(const Sent& sent, uint16_t type, uint32_t length, uint64_t holes) {
  device_.send({type, length, static_cast<uint32_t>(sent_.size())});
  sent_.push_back(sent);
  outcomes_.emplace_back();
  device_.packets().send(sent.wire, holes);
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

void DeserializerBench::clear() {
  sent_.clear();
  outcomes_.clear();
  finished_ = 0;
}

void DeserializerBench::reset() {
  clear();
  chunks_of_.clear();
  device_.reset(free_memory());
}

void DeserializerBench::run_for(uint64_t cycles) {
  for (uint64_t i = 0; i < cycles; ++i) device_.cycle();
}

bool DeserializerBench::run() {
  uint64_t began = device_.cycles(), last = began;
  size_t seen = finished_;
  uint64_t patience = 20000;
  for (const Sent& sent : sent_) patience += sent.wire.size() * 16;
  while (finished_ < sent_.size()) {
    bool more = !device_.packets().idle();
    device_.cycle();
    if (more) {
      last_word_ = device_.cycles();
      beats_before_end_ = host_memory_.counts().beats;
    }
    if (finished_ != seen) {
      seen = finished_;
      last = device_.cycles();
    }
    if (device_.cycles() - last > patience) return false;
  }
  run_cycles_ = device_.cycles() - began;
  return host_memory_.counts().violations == 0 && descriptor_memory_.counts().violations == 0 &&
         engine_memory_.counts().violations == 0;
}

void DeserializerBench::take_record(const DeserializerRecord& record) {
  std::vector<uint32_t>& chunks = chunks_of_[record.cookie];
  chunks.push_back(record.chunk);
  if (record.kind == RecordKind::kChunk) return;
  if (record.cookie >= outcomes_.size() || outcomes_[record.cookie].finished) {
    if (record.cookie < outcomes_.size()) outcomes_[record.cookie].difference = "a second record";
    return;
  }
  Outcome& outcome = outcomes_[record.cookie];
  outcome.finished = true;
  outcome.record = record;
  outcome.cycle = device_.cycles();
  ++finished_;
  if (options_.compare) outcome.difference = compare(sent_[record.cookie], record);
  for (uint32_t chunk : chunks) device_.give(FreeKind::kChunk, {chunk, 1});  // the object has been compared
  chunks_of_.erase(record.cookie);
}

std::string DeserializerBench::compare(const Sent& sent, const DeserializerRecord& record) const {
  bool error = record.kind == RecordKind::kError;
  if (sent.misframed) return error ? "" : "the packet is not as its command says, and the record is no error";
  if (error && record.code == kPacketLength) return "the packet is as its command says, the engine denies it";
  if (sent.unknown || (error && record.code == kUnknownType)) {
    bool right = sent.unknown && error && record.code == kUnknownType;
    return right ? "" : "an unknown type is no error, or a known one is";
  }
  if (record.kind == RecordKind::kSoftware) return "";
  Arena arena;
  auto* object = static_cast<Message*>(arena.allocate_zeroed(sent.type.entry().object_size));
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  DecodeOptions options;
  options.depth_limit = options_.depth_limit;
  DecodeResult result = decode(sent.type, object, sent.wire, arena, options);
  if (record.kind == RecordKind::kError) {
    if (record.code == kBadAddress || record.code == kReadRefused) return "";
    if (result.ok()) return "the engine says error " + std::to_string(record.code) + ", software takes it";
    auto said = static_cast<DecodeError>(record.code);
    if (said == result.error) return "";
    // Which of the two a packed field has first depends on how software reads it (codec/decode/decode_repeated.h).
    auto either = [](DecodeError e) { return e == DecodeError::kTruncated || e == DecodeError::kOverlongVarint; };
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
