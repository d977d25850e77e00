#include "sim/cpu_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "codec/preserialize/preserialize.h"
#include "sim/target_fields.h"
#include "workload/statistics.h"

namespace drover::sim {
namespace {

Time picoseconds(double nanoseconds) { return static_cast<Time>(std::llround(nanoseconds * 1e3)); }

// The least of some rounds, each long enough for the clock.
template <typename Work>
double nanoseconds(Work work) {
  using Clock = std::chrono::steady_clock;
  auto timed = [&](int calls) {
    auto began = Clock::now();
    for (int i = 0; i < calls; ++i) work();
    return std::chrono::duration<double, std::nano>(Clock::now() - began).count();
  };
  int calls = 1;
  while (timed(calls) < 20'000 && calls < (1 << 20)) calls *= 2;
  double best = 1e18;
  for (int round = 0; round < 15; ++round) best = std::min(best, timed(calls) / calls);
  return best;
}

// Of the message's strings in target fields. The message decodes, or has been told of.
std::vector<uint64_t> sizes_of(const TargetFields& targets, const workload::WorkloadMessage& message) {
  std::vector<uint64_t> sizes;
  if (targets.empty()) return sizes;
  Arena arena;
  reflection::Object object = reflection::create(message.type, &arena);
  if (!decode(message.type, object.message(), message.wire, arena).ok()) return sizes;
  for_each_string(message.type, object.message(), [&](const schema::FieldEntry& field, const String& value) {
    if (targets.hold(field)) sizes.push_back(value.size());
  });
  return sizes;
}

std::vector<uint64_t> host_string_sizes(const MessageWork& work) {
  std::multiset<uint64_t> sizes(work.string_sizes.begin(), work.string_sizes.end());
  for (uint64_t size : work.engine_string_sizes) sizes.erase(sizes.find(size));
  return {sizes.begin(), sizes.end()};
}

size_t stream_room(const std::string& wire) { return (wire.size() * 9 + 4096 + 63) / 64 * 64; }

}  // namespace

MessageWork count_work(const workload::WorkloadMessage& message) {
  workload::Statistics statistics;
  workload::add_message(message.type, message.wire, &statistics);
  MessageWork work;
  work.wire_bytes = message.wire.size();
  work.objects = statistics.objects;
  for (uint8_t kind = 1; kind < schema::kKindCount; ++kind) {
    if (schema::is_message_kind(kind)) continue;
    (schema::is_string_kind(kind) ? work.strings : work.scalars) += statistics.values[kind];
  }
  work.string_sizes = statistics.string_sizes;
  work.string_sizes.insert(work.string_sizes.end(), statistics.bytes_sizes.begin(), statistics.bytes_sizes.end());
  for (uint64_t size : work.string_sizes) work.string_bytes += size;
  return work;
}

MessageWork untouched(MessageWork work, uint64_t strings, uint64_t bytes) {
  work.strings -= strings;
  work.string_bytes -= bytes;
  work.untouched += strings;
  return work;
}

Time stated_cost(const CodecCost& cost, const MessageWork& work) {
  return picoseconds(cost.message + cost.object * static_cast<double>(work.objects) +
                     cost.scalar * static_cast<double>(work.scalars) + cost.string * static_cast<double>(work.strings) +
                     cost.byte * static_cast<double>(work.string_bytes) +
                     cost.untouched * static_cast<double>(work.untouched));
}

Time line_copy_cost(const System& system) {
  return picoseconds(codec_cost(system, Job::kPreserialize).byte * 64 * system.cpu_scale);
}

MessageCost stated_costs(const System& system, const MessageWork& work) {
  auto scaled = [&](Time time) { return static_cast<Time>(static_cast<double>(time) * system.cpu_scale); };
  MessageCost cost;
  cost.decode = scaled(stated_cost(codec_cost(system, Job::kDecode), work));
  uint64_t copied = 0, copies = 0, skipped = 0, skips = 0;  // by the copy engine; by nobody
  for (uint64_t size : work.engine_string_sizes) {
    skipped += size;
    ++skips;
  }
  for (uint64_t size : host_string_sizes(work)) {
    if (system.reference_from != 0 && size >= system.reference_from) {
      skipped += size;
      ++skips;
    } else if (system.memcpy_engine && size >= std::max(system.payload_threshold, system.copy_from)) {
      copied += size;
      ++copies;
    }
  }
  CodecCost preserialize = codec_cost(system, Job::kPreserialize), encode = codec_cost(system, Job::kEncode);
  Time submit = picoseconds(system.copy_submit * static_cast<double>(copies));
  cost.preserialize = scaled(stated_cost(preserialize, untouched(work, copies + skips, copied + skipped)) + submit);
  cost.copies = picoseconds(static_cast<double>(copied) / system.copy_bandwidth * 1e9);
  cost.encode = scaled(stated_cost(encode, work));
  if (system.engine == EngineKind::kNone && copies != 0) {
    encode.untouched = preserialize.untouched;  // what it takes to come by such a string
    cost.encode = scaled(stated_cost(encode, untouched(work, copies, copied)) + submit);
    cost.encode_copies = cost.copies;
  }
  return cost;
}

std::string measure_costs(const System& system, const workload::WorkloadMessage& message, MessageCost* out) {
  Arena arena;
  auto fresh = [&] {
    auto* object = static_cast<Message*>(arena.allocate_zeroed(message.type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    return object;
  };
  Message* object = fresh();
  DecodeResult decoded = decode(message.type, object, message.wire, arena);
  if (!decoded.ok()) return message.name + " does not decode: " + to_string(decoded);
  Encoded encoded;
  std::string wire(message.wire.size() + 64, '\0');
  std::vector<uint64_t> room(stream_room(message.wire) / 8);
  auto time = [&](double ns) { return picoseconds(ns * system.cpu_scale); };
  out->encode = time(nanoseconds([&] {
    (void)encode(message.type, object, {}, &encoded);
    encoded.copy_to(wire.data());
  }));
  PreserializeOptions options;
  options.payload_threshold = system.payload_threshold;
  out->preserialize = time(nanoseconds([&] {
    PreserializedOutput stream;
    stream.buffer = reinterpret_cast<char*>(room.data());
    stream.buffer_size = room.size() * 8;
    (void)preserialize(message.type, object, options, &stream);
  }));
  out->decode = time(nanoseconds([&] {
    arena.reset();
    (void)decode(message.type, fresh(), message.wire, arena);
  }));
  return "";
}

CostsResult workload_costs(const System& system, const workload::Workload& workload) {
  CostsResult result;
  if (system.cpu_model == CpuModel::kMeasured &&
      (system.memcpy_engine || system.reference_from != 0 || system.target != "none")) {
    result.error = "serializer.memcpy_engine, .reference_from and run.target are modelled with cpu.model = stated only";
    return result;
  }
  if (system.cpu_model == CpuModel::kMeasured && (system.codec != Codec::kDrover || system.caches != Caches::kWarm)) {
    result.error = "cpu.model = measured is of cpu.codec = drover and cpu.caches = warm only";
    return result;
  }
  TargetFieldsResult targets = target_fields(system.target, workload);
  result.error = targets.error;
  if (!result.error.empty()) return result;
  for (const workload::WorkloadMessage& message : workload.messages) {
    result.work.push_back(count_work(message));
    result.work.back().engine_string_sizes = sizes_of(targets.fields, message);
    MessageCost cost = stated_costs(system, result.work.back());
    if (system.cpu_model == CpuModel::kMeasured) {
      result.error = measure_costs(system, message, &cost);
      if (!result.error.empty()) return result;
    }
    result.costs.push_back(cost);
  }
  return result;
}

}  // namespace drover::sim
