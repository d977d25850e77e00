// `drover sim` for systems that are run with calls (sim/runs/calls.h).
#pragma once

#include <string>
#include <vector>

#include "sim/runs/calls.h"

namespace drover::cli {

struct CallCommand {
  unsigned jobs = 1;
  std::string json;  // a file, - for stdout instead of the table, or empty
};
// Each returns the program's exit code.
int run_one(const sim::System& system, const CallCommand& command);
// Side by side, a line of each; `heading` says what the labels are.
int run_each(const std::string& heading, const std::vector<std::string>& labels,
             const std::vector<sim::System>& systems, const CallCommand& command);
int run_curve(const sim::System& system, uint32_t points, const CallCommand& command);

// Writes to a file, or for "-" to stdout.
int write_json(const std::string& to, const std::string& text);
// On a terminal: how many of so many runs have ended.
void show_progress(size_t ended, size_t all);

}  // namespace drover::cli
