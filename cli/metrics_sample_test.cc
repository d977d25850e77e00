#include "cli/metrics_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace drover::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string metrics(int calls, double cpu, int fast, int slow) {
  const std::string method = "{method=\"/a.B/C\"";
  return "# HELP drover_requests_total Calls\n# TYPE drover_requests_total counter\ndrover_requests_total" + method +
         "} " + std::to_string(calls) + "\ndrover_responses_total" + method + ",code=\"OK\"} " +
         std::to_string(calls - 2) + "\ndrover_responses_total" + method + ",code=\"INTERNAL\"} 1\n" +
         "drover_abandoned_total" + method + "} 1\ndrover_latency_seconds_bucket" + method + ",le=\"0.001\"} " +
         std::to_string(fast) + "\ndrover_latency_seconds_bucket" + method + ",le=\"0.002\"} " +
         std::to_string(fast + slow) + "\ndrover_latency_seconds_bucket" + method + ",le=\"+Inf\"} " +
         std::to_string(fast + slow) + "\ndrover_requests_total{method=\"/a.B/Never\"} 0\n" +
         "drover_ring_depth{host=\"shop\",host_id=\"7\",pid=\"42\",thread=\"0\"} 3\n"
         "drover_ring_depth{host=\"shop\",host_id=\"7\",pid=\"42\",thread=\"1\"} 5\n"
         "drover_region_rx_used_bytes{host=\"shop\",host_id=\"7\",pid=\"42\",thread=\"0\"} 250\n"
         "drover_region_rx_bytes{host=\"shop\",host_id=\"7\",pid=\"42\",thread=\"0\"} 1000\n"
         "drover_host_cpu_seconds_total{host=\"shop\",host_id=\"7\",pid=\"42\"} " +
         std::to_string(2 * cpu) + "\ndrover_connections{thread=\"0\"} 4\ndrover_connections{thread=\"1\"} 5\n" +
         "process_cpu_seconds_total " + std::to_string(cpu) + "\n";
}

TEST(MetricsChange, RatesAndQuantilesAreOfTheTimeBetween) {
  auto change = MetricsChange::between(MetricsSample::parse(metrics(100, 1, 50, 48)),
                                       MetricsSample::parse(metrics(300, 2.5, 230, 68)), 2);
  ASSERT_EQ(change.methods.size(), 1u) << "a method without calls is left out";
  const MetricsChange::Method& method = change.methods[0];
  EXPECT_EQ(method.path, "/a.B/C");
  EXPECT_DOUBLE_EQ(method.calls, 100);
  EXPECT_DOUBLE_EQ(method.failed, 0);
  EXPECT_NEAR(method.p50, 0.001 * 100 / 180, 1e-9);  // 180 calls below 1 ms, 20 below 2 ms
  EXPECT_NEAR(method.p99, 0.001 + 0.001 * 18 / 20, 1e-9);
  EXPECT_DOUBLE_EQ(change.total.p99, method.p99);
  EXPECT_DOUBLE_EQ(change.cpu, 0.75);
  ASSERT_EQ(change.hosts.size(), 1u);
  EXPECT_EQ(change.hosts[0].now.pid, "42");
  EXPECT_DOUBLE_EQ(change.hosts[0].cpu, 1.5);
  EXPECT_DOUBLE_EQ(change.hosts[0].now.ring_depth, 5);
  EXPECT_DOUBLE_EQ(change.now.connections, 9);
}

TEST(MetricsChange, AnEngineThatWasStartedAnewCountsFromZero) {
  auto change = MetricsChange::between(MetricsSample::parse(metrics(1000, 9, 900, 98)),
                                       MetricsSample::parse(metrics(12, 1, 10, 0)), 1);
  EXPECT_DOUBLE_EQ(change.methods[0].calls, 11);
  EXPECT_DOUBLE_EQ(change.cpu, 1);
  EXPECT_GT(change.methods[0].p99, 0);
}

TEST(MetricsChange, ATableHasNoMoreLinesThanAskedFor) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "drover_requests_total{method=\"/m" + std::to_string(i) + "\"} 1\n";
  auto change = MetricsChange::between({}, MetricsSample::parse(text), 1);
  const std::string table = to_table(change, 20);
  EXPECT_LE(std::count(table.begin(), table.end(), '\n'), 20);
  EXPECT_THAT(table, HasSubstr("and 37 more"));
  EXPECT_THAT(to_table(change, SIZE_MAX), Not(HasSubstr("more")));
}

TEST(MetricsSample, OtherTextIsSkippedAndDoesNotReachATerminal) {
  auto sample = MetricsSample::parse(
      "nonsense\n{\nx{\nx{a=\"\nx{a} 1\ndrover_connections x\n\n"
      "drover_requests_total{method=\"/a\x1b[2J\\\"\\\\\"} 5 1700000000\n");
  ASSERT_EQ(sample.methods.size(), 1u);
  EXPECT_EQ(sample.methods.begin()->first, "/a?[2J\"\\");
  EXPECT_EQ(sample.methods.begin()->second.started, 5);
  EXPECT_THAT(to_json(MetricsChange::between({}, sample, 1), 0), HasSubstr("\"/a?[2J\\\"\\\\\""));
}

TEST(MetricsSample, NumbersThatNoEngineHasAreSkipped) {
  std::string text =
      "drover_connections nan\ndrover_connections -1\ndrover_connections +Inf\ndrover_connections inf\n"
      "drover_connections 1e999\ndrover_connections 5x\ndrover_connections 2\n"
      "drover_waiting_calls 1e300\n";
  for (const char* bound : {"nan", "0.002", "-nan", "-1", "NaN", "inf", "1x", "", "+Inf", "0.001"}) {
    for (int i = 0; i < 40; ++i) {
      text += "drover_latency_seconds_bucket{method=\"/a\",le=\"" + std::string(bound) + "\"} 1\n";
    }
  }
  const auto sample = MetricsSample::parse(text);
  EXPECT_EQ(sample.connections, 2);
  EXPECT_EQ(sample.waiting, 1e18);
  const auto& latency = sample.methods.at("/a").latency;
  ASSERT_EQ(latency.size(), 120u);
  EXPECT_EQ(latency[0].first, 0.001);
  EXPECT_EQ(latency[40].first, 0.002);
  EXPECT_TRUE(std::isinf(latency[80].first));
  const auto json = to_json(MetricsChange::between({}, sample, 1), 0);
  EXPECT_THAT(json, Not(HasSubstr("inf")));
  EXPECT_THAT(json, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace drover::cli
