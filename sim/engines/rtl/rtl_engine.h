// The verilated deserializer and serializer as one engine, clocked by engine.clock. Every object and every packet is
// compared with the software codec's.
#pragma once

#include "sim/engines/engine.h"

namespace drover::sim {

EngineType rtl_engine();

}  // namespace drover::sim
