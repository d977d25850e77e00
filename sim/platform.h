// The SystemC platform: a host, an engine, the links between them, and time. One for each process; private to sim/.
#pragma once

#include "sim/run.h"

namespace drover::sim {

// In this process: elaborates, simulates, and must not be called again in it.
RunResult simulate(const System& system, const workload::Workload& workload, const CostsResult& costs,
                   const std::string& trace);

}  // namespace drover::sim
