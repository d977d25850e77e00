// The software codec on a SmartNIC's cores, by the cost model of cores_work.h.
#pragma once

#include "sim/engines/engine.h"

namespace drover::sim {

EngineType cores_engine();

}  // namespace drover::sim
