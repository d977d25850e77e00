// Messages of a workload as what calls carry (calls.messages): one group's, since an engine holds one schema, with what
// they cost a core. Call number n of a client takes one message after the other; the response is the message behind it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/platform/cpu_cost.h"
#include "workload/workload.h"

namespace drover::sim {

struct CallMessages {
  workload::Workload workload;
  std::vector<MessageCost> costs;  // of each message
  uint64_t left_out = 0;           // of the group, because they are longer than `limit`
  std::string error;

  uint32_t size() const { return static_cast<uint32_t>(workload.messages.size()); }
  uint32_t response_to(uint32_t message) const { return (message + 1) % size(); }
  const workload::WorkloadMessage& at(uint32_t message) const { return workload.messages[message]; }
};

// The built-in workload's group of that name, strings cut to `cut` bytes (0: whole), messages of at most `limit` bytes.
CallMessages call_messages(const PlatformOptions& options, const std::string& group, uint64_t cut, size_t limit);

// Functions of calls that carry them: message i is the request of function kFirstMessage + i.
inline constexpr uint16_t kFirstMessage = 16;

}  // namespace drover::sim
