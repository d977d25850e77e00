// The NIC in RTL (rtl/nic) as an engine of calls: "line_nic" in a system file. docs/sim.md says what is RTL and what a
// model.
#pragma once

#include "sim/engines/engine.h"

namespace drover::sim {

EngineType nic_engine();

}  // namespace drover::sim
