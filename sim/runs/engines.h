// The engines that a system file can name.
#pragma once

#include <string>
#include <vector>

#include "sim/engines/engine.h"

namespace drover::sim {

// In the order in which they are documented.
const std::vector<EngineType>& engines();
// Null if no engine is called so.
const EngineType* find_engine(const std::string& kind);
// One more, for tests; before the first System that names it.
void register_engine(EngineType type);

}  // namespace drover::sim
