#include "sim/runs/calls.h"

#include <algorithm>

#include "host/lines/line_message.h"
#include "sim/runs/call_run.h"
#include "sim/runs/isolated.h"
#include "sim/runs/kv_programs.h"

namespace drover::sim {
namespace {

constexpr double kWaiting = 0.01;  // of what was offered
constexpr int kBisections = 5;

CallResult result_of(const Isolated& isolated) {
  if (isolated.error.empty()) return CallResult::parse(isolated.bytes);
  CallResult result;
  result.error = isolated.error;
  return result;
}

System open_at(const System& system, double rate) {
  System open = system;
  open.calls.load = Load::kOpen;
  open.calls.rate = rate;
  // Beyond the closed loop's outstanding calls the window would hide the queue, which latency has to show.
  open.calls.outstanding = std::max<uint32_t>(open.calls.outstanding, 64);
  return open;
}
// A load is served if its calls do not pile up at the clients.
bool served(const CallResult& result) {
  return static_cast<double>(result.waiting) <= kWaiting * static_cast<double>(result.offered);
}

uint32_t request_lines(const CallOptions& calls) {
  const bool of_bytes = calls.program == Calls::kTest && calls.messages == "none";
  return of_bytes ? lines::lines_of(calls.request) : 1;  // messages that are too long are left out
}
// At the most.
uint32_t response_lines(const System& system) {
  const CallOptions& calls = system.calls;
  if (calls.program == Calls::kLinesKv) return kKeyValueResponseLines;
  if (calls.messages == "none") return lines::lines_of(calls.response);
  return system.engine_options().has_codec() ? 1 : kMaxMessageLines;
}

}  // namespace

std::string check_calls(const System& system) {
  if (!system.for_calls()) return system.name + " is a system for messages: its engine has no ports for calls";
  const CallOptions& calls = system.calls;
  if (uint64_t{calls.clients} * calls.connections > 65536) {
    return "calls.clients * calls.connections is at most 65536";
  }
  if (calls.program == Calls::kLinesKv &&
      (calls.load == Load::kOpen || calls.connections != 1 || calls.messages != "none")) {
    return "calls.program = lines_kv is a closed loop of its own messages, on one connection a client";
  }
  // Its client takes a value to be wrong that an overtaken Set has written.
  const NetworkConfig& network = system.platform.network;
  if (calls.program == Calls::kLinesKv && network.reorder > 0 && network.reorder_keys && !system.reliable()) {
    return "calls.program = lines_kv needs a reliable transport where the network reorders packets of a connection";
  }
  CallShape shape{.base = system.base_options(),
                  .clients = calls.clients,
                  .servers = calls.servers,
                  .connections = calls.clients * calls.connections,
                  .longer = calls.program == Calls::kLinesKv || calls.messages != "none" ||
                            calls.request > kLineArguments || calls.response > kLineArguments,
                  .window = calls.window(),
                  .request_lines = request_lines(calls),
                  .response_lines = response_lines(system),
                  .timeout = calls.timeout};
  if (calls.program == Calls::kLinesKv) shape.ordered_key = kKeyValueKey;
  for (const EngineOptions* options : {system.base_options(), &system.engine_options()}) {
    std::string refused = options == nullptr ? "" : options->refuses(shape);
    if (!refused.empty()) return refused;
  }
  if (calls.load == Load::kOpen && calls.rate <= 0) return "calls.rate is more than 0";
  if (system.platform.network.loss > 0 && calls.timeout == 0 && !system.reliable()) {
    return "network.loss needs a calls.timeout: the transport is unreliable";
  }
  return "";
}

CallResult run_calls(const System& system) {
  return run_calls(std::vector<System>{system}, 1, [](size_t) {})[0];
}

std::vector<CallResult> run_calls(const std::vector<System>& systems, unsigned jobs,
                                  const std::function<void(size_t)>& ended) {
  std::vector<std::string> names;
  for (const System& system : systems) names.push_back(system.name);
  auto work = [&](size_t i) { return simulate_calls(systems[i]).bytes(); };
  std::vector<CallResult> results;
  for (const Isolated& isolated : run_isolated(systems.size(), jobs, names, work, ended)) {
    results.push_back(result_of(isolated));
  }
  return results;
}

Curve call_curve(const System& system, uint32_t points, unsigned jobs, const std::function<void(size_t)>& ended) {
  Curve curve;
  if (system.calls.program == Calls::kLinesKv) {
    curve.error = "calls.program = lines_kv is a closed loop: it has no curve";
    return curve;
  }
  System closed = system;
  closed.calls.load = Load::kClosed;
  curve.closed = run_calls(closed);
  curve.error = curve.closed.error;
  if (!curve.error.empty()) return curve;
  double most = curve.closed.throughput();
  auto add = [&](const std::vector<double>& rates) {
    std::vector<System> systems;
    for (double rate : rates) systems.push_back(open_at(system, rate));
    std::vector<CallResult> results = run_calls(systems, jobs, ended);
    for (size_t i = 0; i < rates.size(); ++i) {
      if (curve.error.empty()) curve.error = results[i].error;
      curve.points.push_back({rates[i], std::move(results[i])});
    }
    std::sort(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  };
  std::vector<double> rates;
  for (uint32_t i = 0; i < points; ++i) rates.push_back(most * (0.1 + i * 1.0 / (points - 1)));
  add(rates);
  for (int step = 0; step < kBisections && curve.error.empty(); ++step) {
    double low = 0, high = 0;
    for (const CurvePoint& point : curve.points) {
      if (!served(point.result)) {
        high = point.rate;
        break;
      }
      low = point.rate;
    }
    curve.saturation = low;
    if (high == 0 || high - low < 0.01 * most) break;
    add({(low + high) / 2});
  }
  return curve;
}

}  // namespace drover::sim
