// A run of calls as a table for people and as JSON; a curve, and runs side by side, as lines.
#pragma once

#include <string>
#include <vector>

#include "sim/runs/calls.h"

namespace drover::sim {

std::string call_table(const System& system, const CallResult& result);
std::string call_json(const System& system, const CallResult& result);

std::string call_heading(const std::string& key);
std::string call_line(const std::string& value, const CallResult& result);

std::string curve_table(const System& system, const Curve& curve);
std::string curve_json(const System& system, const Curve& curve);

}  // namespace drover::sim
