#include "sim/platform/call_messages.h"

#include <utility>

#include "workload/cut_strings.h"

namespace drover::sim {

CallMessages call_messages(const PlatformOptions& options, const std::string& group, uint64_t cut, size_t limit) {
  CallMessages out;
  workload::WorkloadResult made = workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kAll);
  if (!made.ok()) {
    out.error = made.error;
    return out;
  }
  out.workload = std::move(made.workload);
  std::vector<workload::WorkloadMessage> kept;
  bool found = false;
  for (workload::WorkloadMessage& message : out.workload.messages) {
    if (out.workload.groups[message.group].name != group) continue;
    found = true;
    if (cut != 0) message.wire = workload::cut_strings(message.type, message.wire, cut);
    if (message.wire.size() > limit) {
      ++out.left_out;
    } else {
      kept.push_back(std::move(message));
    }
  }
  out.workload.messages = std::move(kept);
  if (!found) {
    out.error = "calls.messages: there is no group " + group + " in the built-in workload; there are";
    for (const workload::Group& each : out.workload.groups) out.error += " " + each.name;
  } else if (out.size() == 0) {
    out.error =
        "calls.messages: all of " + group + " are longer than " + std::to_string(limit) + " bytes: set calls.cut";
  }
  if (!out.error.empty()) return out;
  CostsResult costs = workload_costs({options, true, "none"}, out.workload);
  out.error = costs.error;
  out.costs = std::move(costs.costs);
  return out;
}

}  // namespace drover::sim
