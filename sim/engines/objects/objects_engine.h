// Dagger's NIC with Drover's deserializer and serializer between its halves, as an engine of calls: "object_nic" in a
// system file. docs/sim.md says what is RTL and what a model. It has the NIC's keys (line_nic.*) besides its own.
#pragma once

#include "sim/engines/engine.h"

namespace drover::sim {

EngineType objects_engine();

}  // namespace drover::sim
