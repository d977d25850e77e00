// The figures of a run of calls. bytes() and parse() carry them over a pipe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engines/call_engine.h"
#include "sim/platform/core.h"
#include "sim/platform/network.h"

namespace drover::sim {

struct CoreResult {
  std::string name;                  // "client 0"
  std::array<Time, kWorks> spent{};  // in the measured time
};
struct EngineResult {
  std::string name;  // "clients' NIC"
  Figures figures;   // of the whole run
  LinkCounters link;
};

struct CallResult {
  Time measured = 0;
  uint64_t offered = 0;                          // calls that were due in the measured time
  uint64_t completed = 0;                        // calls that ended in it
  std::vector<uint32_t> latencies;               // of calls that were due in it, ns, ascending
  uint64_t waiting = 0;                          // open loop: calls that were due and had not begun at its end
  uint64_t lost = 0;                             // calls of the whole run without an answer: timed out
  uint64_t checked = 0;                          // calls of the whole run whose request and response were compared
  uint64_t messages = 0, messages_left_out = 0;  // of calls.messages: taken; longer than a message or a TX ring
  std::vector<CoreResult> cores;
  std::vector<EngineResult> engines;
  NetworkCounters network;
  uint64_t endpoint_passed = 0;  // transactions at the coherent endpoint in the whole run
  Time endpoint_busy = 0, whole = 0;
  std::string error;

  bool ok() const { return error.empty(); }
  // Millions a second.
  double throughput() const {
    return measured == 0 ? 0 : static_cast<double>(completed) * 1e6 / static_cast<double>(measured);
  }
  double offered_rate() const {
    return measured == 0 ? 0 : static_cast<double>(offered) * 1e6 / static_cast<double>(measured);
  }
  // Of the latencies, in microseconds; `share` of 0.5: the median. 0 without calls.
  double quantile_us(double share) const;

  std::string bytes() const;
  static CallResult parse(const std::string& bytes);  // with an error if it is cut short
};

}  // namespace drover::sim
