// Whole runs: the verilated engines under SystemC, every message compared with the software codec inside the run.
#include "sim/run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sim/report.h"
#include "workload/workload.h"

namespace drover::sim {
namespace {

// The built-in workload's messages under 16 KiB: a run of them takes a second or two.
const workload::Workload& small_workload() {
  static const workload::Workload built = [] {
    workload::WorkloadResult result =
        workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished);
    EXPECT_TRUE(result.ok()) << result.error;
    std::erase_if(result.workload.messages, [](const auto& m) { return m.wire.size() > 16384; });
    return std::move(result.workload);
  }();
  return built;
}

System system_named(const std::string& name, const std::vector<std::pair<std::string, std::string>>& keys = {}) {
  SystemResult loaded = load_system(name);
  EXPECT_TRUE(loaded.ok()) << loaded.error;
  for (const auto& [key, value] : keys) EXPECT_EQ(set_key(&loaded.system, key, value), "");
  return loaded.system;
}

RunResult run_small(const System& system) {
  CostsResult costs = workload_costs(system, small_workload());
  EXPECT_EQ(costs.error, "");
  RunResult result = run(system, small_workload(), costs);
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.messages.size(), small_workload().messages.size() * system.repeat);
  return result;
}

TEST(Run, EverySystemTakesTheWorkload) {
  for (const BuiltInSystem& system : built_in_systems()) {
    SCOPED_TRACE(system.name);
    RunResult result = run_small(system_named(std::string(system.name)));
    for (const MessageResult& message : result.messages) {
      EXPECT_GT(message.receive.time, 0u);
      EXPECT_GT(message.send.time, 0u);
    }
  }
}

TEST(Run, IsTheSameEachTime) {
  System system = system_named("rpcnic");
  RunResult once = run_small(system), again = run_small(system);
  ASSERT_EQ(once.messages.size(), again.messages.size());
  EXPECT_EQ(json(system, small_workload(), once), json(system, small_workload(), again));
}

TEST(Run, CpuOnlyIsTheFormula) {
  System system = system_named("cpu-only");
  CostsResult costs = workload_costs(system, small_workload());
  RunResult result = run_small(system);
  Link link(system.link);
  for (size_t i = 0; i < result.messages.size(); ++i) {
    Time wire = link.wire_time(small_workload().messages[i].wire.size());
    EXPECT_EQ(result.messages[i].receive.time, wire + system.link.one_way + costs.costs[i].decode);
    EXPECT_EQ(result.messages[i].receive.cpu, costs.costs[i].decode);
  }
}

TEST(Run, OneShotWritesLessOftenThanFieldByField) {
  RunTotals one_shot = total(small_workload(), run_small(system_named("rpcnic")));
  RunTotals by_field = total(small_workload(), run_small(system_named("rpcnic", {{"deserializer.one_shot", "false"}})));
  EXPECT_LT(one_shot.receive.link.writes * 3, by_field.receive.link.writes);
  EXPECT_LT(one_shot.receive.mean_ns, by_field.receive.mean_ns);
}

TEST(Run, PointerChasingPaysForTheDistance) {
  auto send_time = [&](const char* mode, const char* latency) {
    return total(small_workload(),
                 run_small(system_named("rpcnic", {{"serializer.mode", mode}, {"link.latency", latency}})))
        .send.mean_ns;
  };
  double near = send_time("nic-only", "70ns"), far = send_time("nic-only", "1250ns");
  EXPECT_GT(far, near + 1180);  // more than one round trip
  double stream_near = send_time("memory-affinity", "70ns"), stream_far = send_time("memory-affinity", "1250ns");
  EXPECT_LT(stream_far - stream_near, far - near);
}

TEST(Run, MoreInFlightIsMoreThroughput) {
  RunResult alone = run_small(system_named("rpcnic", {{"run.repeat", "2"}}));
  RunResult many = run_small(system_named("rpcnic", {{"run.repeat", "2"}, {"run.in_flight", "16"}}));
  EXPECT_LT(many.receive_time * 2, alone.receive_time);
  EXPECT_LT(many.send_time, alone.send_time);
}

TEST(Run, TheCopyEngineTakesWorkOffTheCpu) {
  RunTotals plain = total(small_workload(), run_small(system_named("rpcnic")));
  RunTotals copied = total(small_workload(), run_small(system_named("rpcnic", {{"serializer.memcpy_engine", "true"}})));
  EXPECT_LT(copied.send.cpu, plain.send.cpu);
  EXPECT_GT(copied.send.copies, 0u);
}

TEST(Run, CostsThatAreMeasuredAreAboveZero) {
  System system = system_named("rpcnic", {{"cpu.model", "measured"}});
  workload::Workload one;
  MessageCost cost;
  EXPECT_EQ(measure_costs(system, small_workload().messages[0], &cost), "");
  EXPECT_GT(cost.decode, 0u);
  EXPECT_GT(cost.encode, 0u);
  EXPECT_GT(cost.preserialize, 0u);
}

}  // namespace
}  // namespace drover::sim
