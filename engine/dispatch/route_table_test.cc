#include "engine/dispatch/route_table.h"

#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

TEST(RouteTable, ARouteIsFoundByListenerAndPath) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  Route* one = table.add(1, "/a.A/Say", 0);
  Route* other = table.add(2, "/a.A/Say", 0);
  EXPECT_NE(one, other);
  EXPECT_EQ(table.find(1, "/a.A/Say"), one);
  EXPECT_EQ(table.find(2, "/a.A/Say"), other);
  EXPECT_EQ(table.find(3, "/a.A/Say"), nullptr);
  EXPECT_EQ(table.find(1, "/a.A/Sa"), nullptr);
  EXPECT_EQ(table.add(1, "/a.A/Say", 0), one) << "a known route is not made twice";
  EXPECT_EQ(table.size(), 2u);
}

TEST(RouteTable, ManyRoutesAreAllFound) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  for (int i = 0; i < 5000; ++i) table.add(1 + i % 3, "/s.S/Method" + std::to_string(i), 0);
  for (int i = 0; i < 5000; ++i) {
    std::string path = "/s.S/Method" + std::to_string(i);
    Route* route = table.find(static_cast<uint32_t>(1 + i % 3), path);
    ASSERT_NE(route, nullptr) << path;
    EXPECT_EQ(route->path, path);
  }
}

TEST(RouteTable, RoutesThatWentAreNotFoundAndAllOthersAre) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  auto path = [](int i) { return "/s.S/Method" + std::to_string(i); };
  for (int i = 0; i < 3000; ++i) table.add(i % 3 == 0 ? 7 : 8, path(i), 0);
  while (table.forget_listener(7, 64) == 64) {
  }
  EXPECT_EQ(table.size(), 2000u);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(table.find(7, path(i)), nullptr);
    EXPECT_EQ(table.find(8, path(i)) != nullptr, i % 3 != 0) << i;
  }
}

TEST(RouteTable, AnUnknownMethodOfAKnownServiceIsToldFromAnUnknownService) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  table.add(1, "/a.A/Say", 0);
  table.host_came(1);
  EXPECT_EQ(table.unknown(1, "/a.A/Shout").message, "unknown method Shout for service a.A");
  EXPECT_EQ(table.unknown(1, "/b.B/Say").message, "unknown service b.B");
  EXPECT_EQ(table.unknown(2, "/a.A/Shout").message, "unknown service a.A");
  EXPECT_EQ(table.unknown(1, "nonsense").message, "malformed method name: \"nonsense\"");
  EXPECT_EQ(table.unknown(1, "/b.B/Say").code, StatusCode::kUnimplemented);
}

TEST(RouteTable, WithoutAnyHostAtItsAddressAMethodIsUnavailableRatherThanUnknown) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  table.add_listener(1);
  EXPECT_EQ(table.unknown(1, "/a.A/Say").code, StatusCode::kUnavailable);
  EXPECT_EQ(table.unknown(1, "/a.A/Say").message, "no process of the service is attached");
  table.host_came(1);
  EXPECT_EQ(table.unknown(1, "/a.A/Say").code, StatusCode::kUnimplemented);
  table.host_left(1);
  EXPECT_EQ(table.unknown(1, "/a.A/Say").code, StatusCode::kUnavailable);
}

TEST(RouteTable, AfterItsListenerClosedAMethodIsUnavailableRatherThanUnknown) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  table.add(1, "/a.A/Say", 0);
  table.add(2, "/a.A/Say", 0);
  table.forget_listener(1, 99);
  EXPECT_EQ(table.find(1, "/a.A/Say"), nullptr);
  EXPECT_NE(table.find(2, "/a.A/Say"), nullptr);
  EXPECT_EQ(table.unknown(1, "/a.A/Say").code, StatusCode::kUnavailable);
}

TEST(RouteTable, AMemoSavesTheLookUpUntilRoutesGo) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  RouteMemo memo;
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), nullptr);
  Route* route = table.add(1, "/a.A/Say", 0);
  table.add(2, "/a.A/Say", 0);
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), route) << "that it was unknown is not remembered";
  EXPECT_EQ(table.find(1, "not looked at", &memo), route);
  table.forget_listener(2, 99);
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), route);
  table.forget_listener(1, 99);
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), nullptr);
}

TEST(RouteTable, ARouteThatGoesStaysForTheCallsThatUseIt) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  Route* used = table.add(1, "/a.A/Say", 0);
  RouteTable::enter(*used);
  MethodMetrics* counted = used->metrics;
  table.forget_listener(1, 99);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.retired(), 1u);
  EXPECT_EQ(used->path, "/a.A/Say");  // ASan tells if it is gone
  counted->started.add();
  table.leave(*used);
  EXPECT_EQ(table.retired(), 0u);
}

class RouteTableHosts : public testing::Test {
 protected:
  static constexpr int64_t kWait = 1'000'000'000, kSlack = RouteTable::kOrphanSlackNs;

  std::vector<std::string> methods() {
    std::vector<std::string> paths;
    metrics_.visit([&](const MethodMetrics& method) { paths.push_back(method.path()); },
                   [](const ThreadMetrics::Series&) {});
    return paths;
  }

  ThreadMetrics metrics_{0};
  RouteTable table_{metrics_, kWait, 8};
  HostLink one_{make_attachment(1, {}, {}), 0, metrics_}, two_{make_attachment(1, {}, {}), 0, metrics_};
};

TEST_F(RouteTableHosts, ARemovedHostServesNoRouteAndOthersGoOn) {
  Route* route = table_.add(1, "/a.A/Say", 0);
  table_.add_target(*route, {&one_, 0});
  table_.add_target(*route, {&two_, 7});
  table_.remove_target(*route, &one_, 0);
  ASSERT_EQ(route->targets.size(), 1u);
  EXPECT_EQ(route->targets[0].link, &two_);
  EXPECT_EQ(table_.next_orphan_ns(), kNoDeadline);
  EXPECT_EQ(table_.find(1, "/a.A/Say"), route);
}

TEST_F(RouteTableHosts, ARouteWithoutAHostGoesWithItsMetricsWhenItsTimeIsOver) {
  Route* route = table_.add(1, "/a.A/Say", 0);
  table_.add_target(*route, {&one_, 0});
  EXPECT_EQ(table_.remove_orphans(INT64_MAX / 2, 99), 0u);
  table_.remove_target(*route, &one_, 5);
  EXPECT_EQ(route->kept_until_ns, 5 + kWait);
  EXPECT_EQ(table_.remove_orphans(5 + kWait, 99), 0u) << "its waiting calls end first";
  EXPECT_EQ(methods(), (std::vector<std::string>{"/a.A/Say", "unknown"}));
  EXPECT_EQ(table_.remove_orphans(5 + kWait + kSlack, 99), 1u);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(methods(), (std::vector<std::string>{"unknown"}));
}

TEST_F(RouteTableHosts, AHostThatComesBackInTimeKeepsTheRouteAndItsMetrics) {
  Route* route = table_.add(1, "/a.A/Say", 0);
  table_.add_target(*route, {&one_, 0});
  table_.remove_target(*route, &one_, 0);
  EXPECT_EQ(table_.add(1, "/a.A/Say", 100), route);
  table_.add_target(*route, {&two_, 0});
  EXPECT_EQ(route->kept_until_ns, kNoDeadline);
  EXPECT_EQ(table_.remove_orphans(INT64_MAX / 2, 99), 0u);
}

TEST_F(RouteTableHosts, AMethodAtTwoAddressesHasItsMetricsUntilBothAreGone) {
  table_.add(1, "/a.A/Say", 0);
  table_.add(2, "/a.A/Say", 0);
  table_.forget_listener(1, 99);
  EXPECT_EQ(methods(), (std::vector<std::string>{"/a.A/Say", "unknown"}));
  table_.forget_listener(2, 99);
  EXPECT_EQ(methods(), (std::vector<std::string>{"unknown"}));
}

TEST_F(RouteTableHosts, AFullTableGivesUpItsOldestOrphanButNoServedRoute) {
  for (int i = 0; i < 8; ++i) {
    Route* route = table_.add(1, "/a.A/M" + std::to_string(i), i);
    if (i != 3 && i != 5) table_.add_target(*route, {&one_, 0});
  }
  EXPECT_NE(table_.add(1, "/b.B/First", 10), nullptr);
  EXPECT_EQ(table_.find(1, "/a.A/M3"), nullptr);
  EXPECT_NE(table_.find(1, "/a.A/M5"), nullptr);
  table_.add_target(*table_.find(1, "/b.B/First"), {&one_, 0});
  table_.add_target(*table_.find(1, "/a.A/M5"), {&one_, 0});
  EXPECT_EQ(table_.add(1, "/b.B/Second", 10), nullptr);
}

// 8,000 methods of as many services: an unknown one costs look-ups, not a walk. Counted by time only within a factor
// that a walk exceeds a hundredfold.
TEST(RouteTable, AnUnknownMethodCostsNoWalkOverTheTable) {
  ThreadMetrics metrics(0);
  RouteTable small(metrics), large(metrics);
  for (int i = 0; i < 8000; ++i) large.add(1, "/s.S" + std::to_string(i) + "/M", 0);
  small.add(1, "/s.S/M", 0);
  auto cost = [](const RouteTable& table) {
    int64_t best = INT64_MAX;
    for (int round = 0; round < 20; ++round) {
      int64_t begin = monotonic_ns();
      for (int i = 0; i < 100; ++i) table.unknown(1, "/s.Nothing/M");
      best = std::min(best, monotonic_ns() - begin);
    }
    return best;
  };
  EXPECT_LT(cost(large), 10 * cost(small));
}

}  // namespace
}  // namespace drover::engine
