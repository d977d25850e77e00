// Text of reports: formatted figures, and strings in JSON.
#pragma once

#include <string>

#include "sim/runs/system.h"

namespace drover::sim {

// At most 1,023 characters.
[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);
std::string quoted(const std::string& text);
// "keys": {...}, as a system's JSON has them.
std::string keys_json(const System& system);

}  // namespace drover::sim
