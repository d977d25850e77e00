// No engine: the host's CPU runs the whole codec, and a plain NIC moves wire bytes to and from host memory.
#pragma once

#include "sim/engines/engine.h"

namespace drover::sim {

EngineType cpu_engine();

}  // namespace drover::sim
