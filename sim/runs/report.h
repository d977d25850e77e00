// A run's figures as a table for people and as JSON, and one point of a sweep as a line or an object.
#pragma once

#include <string>

#include "sim/runs/run.h"

namespace drover::sim {

// One direction of a run, all messages together.
struct LegTotals : Counters {
  uint64_t messages = 0, wire_bytes = 0;
  Time time = 0;                       // from the first message's start to the last one's end
  double mean_ns = 0, geomean_ns = 0;  // of the messages' own times
  double mean_cycles = 0;
  Time cpu = 0, copies = 0;
  uint64_t by_engine = 0, by_software = 0;  // by_software: what the engine left to it

  double bytes_per_second() const {
    return time == 0 ? 0 : static_cast<double>(wire_bytes) * 1e12 / static_cast<double>(time);
  }
};
struct RunTotals {
  LegTotals receive, send;
};
// A group's `time` is 0: it is measured for the whole run only.
struct GroupTotals {
  std::string name;
  RunTotals totals;
};
std::vector<GroupTotals> group_totals(const workload::Workload& workload, const RunResult& result);
RunTotals total(const workload::Workload& workload, const RunResult& result);

// "stated (protobuf, caches warm)" or "measured on this machine (drover, caches warm)".
std::string cpu_costs_from(const System& system);

std::string table(const System& system, const workload::Workload& workload, const RunResult& result);
std::string json(const System& system, const workload::Workload& workload, const RunResult& result);

// For runs side by side (a sweep, several systems): the heading, and a line of each. Transactions and CPU time are per
// message.
std::string sweep_heading(const std::string& key);
std::string sweep_line(const std::string& value, const RunTotals& totals);
// And group by group (bench by bench), a line of each.
std::string group_table(const std::vector<std::string>& labels, const workload::Workload& workload,
                        const std::vector<RunResult>& results);

}  // namespace drover::sim
