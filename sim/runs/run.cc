#include "sim/runs/run.h"

#include <cstring>

#include "sim/runs/isolated.h"
#include "sim/runs/message_run.h"

namespace drover::sim {
namespace {

// A run's answer begins so; its messages and the error's text follow.
struct Answer {
  Time receive_time, send_time;
  uint64_t messages, error_bytes;
};

std::string bytes_of(const RunResult& result) {
  Answer answer{result.receive_time, result.send_time, result.messages.size(), result.error.size()};
  std::string bytes(reinterpret_cast<const char*>(&answer), sizeof(answer));
  bytes.append(reinterpret_cast<const char*>(result.messages.data()), result.messages.size() * sizeof(MessageResult));
  return bytes + result.error;
}

// False if it is cut short.
bool parse_result(const std::string& bytes, RunResult* result) {
  Answer answer{};
  if (bytes.size() < sizeof(answer)) return false;
  std::memcpy(&answer, bytes.data(), sizeof(answer));
  size_t size = answer.messages * sizeof(MessageResult);
  if (bytes.size() != sizeof(answer) + size + answer.error_bytes) return false;
  result->receive_time = answer.receive_time;
  result->send_time = answer.send_time;
  result->messages.resize(answer.messages);
  if (size != 0) std::memcpy(result->messages.data(), bytes.data() + sizeof(answer), size);
  result->error = bytes.substr(sizeof(answer) + size);
  return true;
}

RunResult result_of(const Isolated& isolated) {
  RunResult result;
  if (!isolated.error.empty()) {
    result.error = isolated.error;
  } else if (!parse_result(isolated.bytes, &result)) {
    result = RunResult();
    result.error = "the simulation's answer was cut short";
  }
  return result;
}

}  // namespace

CostsResult workload_costs(const System& system, const workload::Workload& workload) {
  CostRules rules{system.platform, system.engine_type().host_encodes, system.run.target};
  return workload_costs(rules, workload);
}

RunResult run(const System& system, const workload::Workload& workload, const CostsResult& costs,
              const std::string& trace) {
  auto work = [&](size_t) { return bytes_of(simulate(system, workload, costs, trace)); };
  return result_of(run_isolated(1, 1, {system.name}, work, [](size_t) {})[0]);
}

std::vector<RunResult> run_all(const std::vector<System>& systems, const workload::Workload& workload,
                               const std::vector<CostsResult>& costs, unsigned jobs,
                               const std::function<void(size_t)>& ended) {
  std::vector<std::string> names;
  for (const System& system : systems) names.push_back(system.name);
  auto work = [&](size_t i) { return bytes_of(simulate(systems[i], workload, costs[i], "")); };
  std::vector<RunResult> results;
  for (const Isolated& isolated : run_isolated(systems.size(), jobs, names, work, ended)) {
    results.push_back(result_of(isolated));
  }
  return results;
}

}  // namespace drover::sim
