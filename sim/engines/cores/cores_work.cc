#include "sim/engines/cores/cores_work.h"

#include <algorithm>

namespace drover::sim {
namespace {

constexpr uint64_t kChunk = 4096, kScalarBytes = 8, kStringWords = 16, kPointerBytes = 8, kRecordBytes = 32;

std::vector<CoresStep> writes(bool one_shot, const MessageWork& work, const PreparedMessage& message) {
  std::vector<CoresStep> steps;
  auto add = [&](uint64_t bytes) {
    CoresStep step;
    step.written = bytes;
    if (bytes != 0) steps.push_back(step);
  };
  if (one_shot) {
    for (uint64_t left = message.object_bytes; left > 0; left -= std::min(left, kChunk)) add(std::min(left, kChunk));
  } else {
    for (uint64_t i = 0; i < work.scalars; ++i) add(kScalarBytes);
    for (uint64_t i = 1; i < work.objects; ++i) add(kPointerBytes);
    for (uint64_t size : work.string_sizes) {
      add(kStringWords);
      add(size);
    }
  }
  return steps;
}

}  // namespace

CoresWork cores_work_of(const PlatformOptions& options, const CoresCosts& costs, const MessageWork& work,
                        const PreparedMessage& message) {
  auto on_cores = [&](const CodecCost& cost) {
    return static_cast<Time>(static_cast<double>(stated_cost(cost, work)) * costs.scale);
  };
  auto dma = static_cast<Time>(costs.dma * static_cast<double>(kNanosecond));
  CoresWork result;
  // Decoding overlaps the writes, which are spread evenly over it.
  result.receive = writes(options.handover.one_shot, work, message);
  Time decode = on_cores(options.cpu.cost(Job::kDecode));
  for (CoresStep& step : result.receive) step.compute = decode / result.receive.size() + dma;
  CoresStep record;
  record.compute = result.receive.empty() ? decode + dma : dma;
  record.written = kRecordBytes;
  result.receive.push_back(record);

  CoresStep last;
  if (options.handover.send == SendMode::kMemoryAffinity) {
    CoresStep stream;
    stream.compute = dma;
    stream.read = message.source.record_bytes + message.source.payload_bytes;
    stream.waits = true;
    result.send.push_back(stream);
  } else {
    uint64_t objects = work.objects == 0 ? 1 : work.objects;
    uint64_t object_bytes = (message.object_bytes - std::min(message.object_bytes, work.string_bytes)) / objects;
    for (uint64_t i = 0; i < objects; ++i) {
      CoresStep step;
      step.compute = dma;
      step.read = std::max<uint64_t>(object_bytes, 1);
      step.waits = true;
      result.send.push_back(step);
      // Strings are dealt out evenly among the objects.
      for (size_t s = i; s < work.string_sizes.size(); s += objects) {
        CoresStep string;
        string.compute = dma;
        string.read = std::max<uint64_t>(work.string_sizes[s], 1);
        result.send.push_back(string);
      }
    }
  }
  last.compute = on_cores(options.cpu.cost(Job::kEncode));
  last.waits = true;
  result.send.back().waits = true;
  result.send.push_back(last);
  return result;
}

}  // namespace drover::sim
