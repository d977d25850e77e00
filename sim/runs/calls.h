// Runs of calls through a system whose engine is a NIC: one, several side by side, or a latency-throughput curve that
// finds where the system saturates. Deterministic for a system and its keys; each run has a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/runs/call_result.h"
#include "sim/runs/system.h"

namespace drover::sim {

// What is wrong with a system's keys for a run of calls, together; empty: nothing.
std::string check_calls(const System& system);

CallResult run_calls(const System& system);
// results[i] is of systems[i]; `jobs` at once; `ended` is told how many have ended.
std::vector<CallResult> run_calls(const std::vector<System>& systems, unsigned jobs,
                                  const std::function<void(size_t)>& ended);

struct CurvePoint {
  double rate;  // millions of calls a second that were offered
  CallResult result;
};
struct Curve {
  CallResult closed;               // the closed loop, whose throughput the rates are parts of
  double saturation = 0;           // the highest rate found at which calls do not pile up: at the end at most 1 % wait
  std::vector<CurvePoint> points;  // ascending by rate
  std::string error;
};
// Open loops at `points` rates from a tenth of the closed loop's throughput to 1.1 times it, then a bisection between
// the highest that was served and the lowest that was not.
Curve call_curve(const System& system, uint32_t points, unsigned jobs, const std::function<void(size_t)>& ended);

}  // namespace drover::sim
