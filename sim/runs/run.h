// One run: a workload's messages through a system, received (wire bytes to an object that the host can read) and sent
// (an object of the host's to wire bytes at the transport), each by itself or several under way at once.
//
//   receive   from the first byte at the engine (or NIC) to the host seeing the completion record behind the object
//   send      from the host's send command to the last wire byte at the transport
//
// Each message that the RTL makes is compared with the software codec: the object by encoding it, the packet by its
// bytes. A difference ends the run with an error. A run is deterministic given system, workload and costs. It has a
// process of its own (SystemC has one simulation a process), so that several can run side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/platform/cpu_cost.h"
#include "sim/runs/result.h"
#include "sim/runs/system.h"
#include "workload/workload.h"

namespace drover::sim {

// What the messages cost the CPU of this system.
CostsResult workload_costs(const System& system, const workload::Workload& workload);

// In a child process; `trace` names a VCD file to write, or is empty.
RunResult run(const System& system, const workload::Workload& workload, const CostsResult& costs,
              const std::string& trace = "");

// Several systems, `jobs` at once; `ended` is told how many have ended. costs[i] are of systems[i].
std::vector<RunResult> run_all(const std::vector<System>& systems, const workload::Workload& workload,
                               const std::vector<CostsResult>& costs, unsigned jobs,
                               const std::function<void(size_t)>& ended);

}  // namespace drover::sim
