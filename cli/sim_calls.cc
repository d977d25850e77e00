#include "cli/sim_calls.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/command.h"
#include "sim/runs/call_report.h"

namespace drover::cli {

using sim::CallResult;
using sim::System;

int write_json(const std::string& to, const std::string& text) {
  if (to == "-") return std::fputs(text.c_str(), stdout), kDone;
  std::ofstream file(to, std::ios::binary);
  file << text;
  file.close();
  return file ? kDone : fail("sim", "cannot write " + to);
}

void show_progress(size_t ended, size_t all) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) std::fprintf(stderr, "\r%zu of %zu runs%s", ended, all, ended == all ? "\n" : "");
}

int run_one(const System& system, const CallCommand& command) {
  if (std::string error = sim::check_calls(system); !error.empty()) return fail("sim", error, kUsage);
  CallResult result = sim::run_calls(system);
  if (!result.ok()) return fail("sim", system.name + ": " + result.error);
  if (command.json != "-") std::fputs(sim::call_table(system, result).c_str(), stdout);
  return command.json.empty() ? kDone : write_json(command.json, sim::call_json(system, result));
}

int run_each(const std::string& heading, const std::vector<std::string>& labels, const std::vector<System>& systems,
             const CallCommand& command) {
  for (const System& system : systems) {
    if (std::string error = sim::check_calls(system); !error.empty()) return fail("sim", error, kUsage);
  }
  std::vector<CallResult> results =
      sim::run_calls(systems, command.jobs, [&](size_t ended) { show_progress(ended, systems.size()); });
  std::string text = sim::call_heading(heading), all = "[";
  for (size_t i = 0; i < systems.size(); ++i) {
    if (!results[i].ok()) return fail("sim", heading + " " + labels[i] + ": " + results[i].error);
    text += sim::call_line(labels[i], results[i]);
    all += (i == 0 ? "" : ",\n") + sim::call_json(systems[i], results[i]);
  }
  if (command.json != "-") {
    std::printf("core costs: %s\n\n%s", systems[0].platform.cores.source.c_str(), text.c_str());
  }
  return command.json.empty() ? kDone : write_json(command.json, all + "]\n");
}

int run_curve(const System& system, uint32_t points, const CallCommand& command) {
  if (std::string error = sim::check_calls(system); !error.empty()) return fail("sim", error, kUsage);
  sim::Curve curve = sim::call_curve(system, points, command.jobs, [&](size_t ended) { show_progress(ended, points); });
  if (!curve.error.empty()) return fail("sim", system.name + ": " + curve.error);
  if (command.json != "-") std::fputs(sim::curve_table(system, curve).c_str(), stdout);
  return command.json.empty() ? kDone : write_json(command.json, sim::curve_json(system, curve));
}

}  // namespace drover::cli
