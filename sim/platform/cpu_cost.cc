#include "sim/platform/cpu_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "codec/preserialize/preserialize.h"
#include "sim/platform/target_fields.h"
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

// Of the message's strings in target fields; none if the message does not decode, which prepare_host() reports.
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

Time line_copy_cost(const CpuOptions& cpu) { return picoseconds(cpu.cost(Job::kPreserialize).byte * 64 * cpu.scale); }

MessageCost stated_costs(const CostRules& rules, const MessageWork& work) {
  const CpuOptions& cpu = rules.options.cpu;
  const HandoverOptions& handover = rules.options.handover;
  auto scaled = [&](Time time) { return static_cast<Time>(static_cast<double>(time) * cpu.scale); };
  MessageCost cost;
  cost.decode = scaled(stated_cost(cpu.cost(Job::kDecode), work));
  uint64_t copied = 0, copies = 0, skipped = 0, skips = 0;  // by the copy engine; not at all
  for (uint64_t size : work.engine_string_sizes) {
    skipped += size;
    ++skips;
  }
  for (uint64_t size : host_string_sizes(work)) {
    if (handover.reference_from != 0 && size >= handover.reference_from) {
      skipped += size;
      ++skips;
    } else if (handover.memcpy_engine && size >= std::max(handover.payload_threshold, cpu.copy_from)) {
      copied += size;
      ++copies;
    }
  }
  CodecCost preserialize = cpu.cost(Job::kPreserialize), encode = cpu.cost(Job::kEncode);
  Time submit = picoseconds(cpu.copy_submit * static_cast<double>(copies));
  cost.preserialize = scaled(stated_cost(preserialize, untouched(work, copies + skips, copied + skipped)) + submit);
  cost.copies = picoseconds(static_cast<double>(copied) / cpu.copy_bandwidth * 1e9);
  cost.encode = scaled(stated_cost(encode, work));
  if (rules.host_encodes && copies != 0) {
    encode.untouched = preserialize.untouched;  // the cost of reaching such a string
    cost.encode = scaled(stated_cost(encode, untouched(work, copies, copied)) + submit);
    cost.encode_copies = cost.copies;
  }
  return cost;
}

std::string measure_costs(const PlatformOptions& options, const workload::WorkloadMessage& message, MessageCost* out) {
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
  auto time = [&](double ns) { return picoseconds(ns * options.cpu.scale); };
  out->encode = time(nanoseconds([&] {
    (void)encode(message.type, object, {}, &encoded);
    encoded.copy_to(wire.data());
  }));
  PreserializeOptions how;
  how.payload_threshold = options.handover.payload_threshold;
  out->preserialize = time(nanoseconds([&] {
    PreserializedOutput stream;
    stream.buffer = reinterpret_cast<char*>(room.data());
    stream.buffer_size = room.size() * 8;
    (void)preserialize(message.type, object, how, &stream);
  }));
  out->decode = time(nanoseconds([&] {
    arena.reset();
    (void)decode(message.type, fresh(), message.wire, arena);
  }));
  return "";
}

CostsResult workload_costs(const CostRules& rules, const workload::Workload& workload) {
  CostsResult result;
  const CpuOptions& cpu = rules.options.cpu;
  const HandoverOptions& handover = rules.options.handover;
  bool measured = cpu.model == CpuModel::kMeasured;
  if (measured && (handover.memcpy_engine || handover.reference_from != 0 || rules.target != "none")) {
    result.error = "serializer.memcpy_engine, .reference_from and run.target are modelled with cpu.model = stated only";
    return result;
  }
  if (measured && (cpu.codec != Codec::kDrover || cpu.caches != Caches::kWarm)) {
    result.error = "cpu.model = measured is of cpu.codec = drover and cpu.caches = warm only";
    return result;
  }
  TargetFieldsResult targets = target_fields(rules.target, workload);
  result.error = targets.error;
  if (!result.error.empty()) return result;
  for (const workload::WorkloadMessage& message : workload.messages) {
    result.work.push_back(count_work(message));
    result.work.back().engine_string_sizes = sizes_of(targets.fields, message);
    MessageCost cost = stated_costs(rules, result.work.back());
    if (measured) {
      result.error = measure_costs(rules.options, message, &cost);
      if (!result.error.empty()) return result;
    }
    result.costs.push_back(cost);
  }
  return result;
}

}  // namespace drover::sim
