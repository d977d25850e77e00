// The software codec's cost on the host's CPU for each message of a workload: by the system's stated costs, or timed on
// the machine at hand. Every result says which (cpu.model).
//
//   stated     message + objects * object + scalars * scalar + strings * string + bytes * byte + untouched strings *
//              untouched   [ns], by cpu.codec and cpu.caches (sim/stated_costs.h)
//   measured   the least of several rounds of decode(), encode() with a copy of the pieces, preserialize(): Drover's
//              codec, caches warm
//
// Strings that pre-serialization refers to (serializer.reference_from), or that lie in engine memory (run.target), are
// not touched. With the copy engine, payload strings from copy_from on are not touched by the CPU, and cost it
// copy_submit each; the stream is complete once the engine has copied them, at copy_bandwidth. Where the host's CPU
// encodes, the copy engine copies the encoder's strings, as in the paper's figure 6; no real codec does that. All this
// is modelled with stated costs only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/platform/options.h"
#include "workload/workload.h"

namespace drover::sim {

// How much of each class of work a message holds.
struct MessageWork {
  uint64_t wire_bytes = 0;
  uint64_t objects = 0, scalars = 0, strings = 0, string_bytes = 0;
  std::vector<uint64_t> string_sizes;
  std::vector<uint64_t> engine_string_sizes;  // of those that lie in engine memory
  uint64_t untouched = 0;                     // strings that the CPU does not read; not in `strings`
};
// The same work without `strings` strings, of `bytes` bytes together, that are not touched.
MessageWork untouched(MessageWork work, uint64_t strings, uint64_t bytes);

MessageWork count_work(const workload::WorkloadMessage& message);

struct MessageCost {
  Time decode = 0, encode = 0, preserialize = 0;  // of the host's CPU
  Time copies = 0;                                // of the copy engine, beside the CPU that pre-serializes
  Time encode_copies = 0;                         // and beside the CPU that encodes
};
// For each 64 bytes of an object that the CPU copies as it pushes them into the card: the cost of a string's bytes,
// besides cpu.push_line.
Time line_copy_cost(const CpuOptions& cpu);
Time stated_cost(const CodecCost& cost, const MessageWork& work);

// Which costs a run needs.
struct CostRules {
  const PlatformOptions& options;
  bool host_encodes = false;    // the host's CPU runs the codec
  std::string target = "none";  // run.target: fields whose payloads lie in engine memory
};
MessageCost stated_costs(const CostRules& rules, const MessageWork& work);
// An empty string; or what is wrong, if the codec does not take the message.
std::string measure_costs(const PlatformOptions& options, const workload::WorkloadMessage& message, MessageCost* out);

// One for each message of the workload, by cpu.model; or an error.
struct CostsResult {
  std::vector<MessageCost> costs;
  std::vector<MessageWork> work;
  std::string error;
};
CostsResult workload_costs(const CostRules& rules, const workload::Workload& workload);

}  // namespace drover::sim
