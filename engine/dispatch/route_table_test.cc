#include "engine/dispatch/route_table.h"

#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

TEST(RouteTable, ARouteIsFoundByListenerAndPath) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  Route* one = table.add(1, "/a.A/Say");
  Route* other = table.add(2, "/a.A/Say");
  EXPECT_NE(one, other);
  EXPECT_EQ(table.find(1, "/a.A/Say"), one);
  EXPECT_EQ(table.find(2, "/a.A/Say"), other);
  EXPECT_EQ(table.find(3, "/a.A/Say"), nullptr);
  EXPECT_EQ(table.find(1, "/a.A/Sa"), nullptr);
  EXPECT_EQ(table.add(1, "/a.A/Say"), one) << "a known route is not made twice";
  EXPECT_EQ(table.size(), 2u);
}

TEST(RouteTable, ManyRoutesAreAllFound) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  for (int i = 0; i < 5000; ++i) table.add(1 + i % 3, "/s.S/Method" + std::to_string(i));
  for (int i = 0; i < 5000; ++i) {
    std::string path = "/s.S/Method" + std::to_string(i);
    Route* route = table.find(static_cast<uint32_t>(1 + i % 3), path);
    ASSERT_NE(route, nullptr) << path;
    EXPECT_EQ(route->path, path);
  }
}

TEST(RouteTable, AnUnknownMethodOfAKnownServiceIsToldFromAnUnknownService) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  table.add(1, "/a.A/Say");
  EXPECT_EQ(table.unknown(1, "/a.A/Shout").message, "unknown method Shout for service a.A");
  EXPECT_EQ(table.unknown(1, "/b.B/Say").message, "unknown service b.B");
  EXPECT_EQ(table.unknown(1, "nonsense").message, "malformed method name: \"nonsense\"");
  EXPECT_EQ(table.unknown(1, "/b.B/Say").code, StatusCode::kUnimplemented);
}

TEST(RouteTable, AfterItsListenerClosedAMethodIsUnavailableRatherThanUnknown) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  table.add(1, "/a.A/Say");
  table.add(2, "/a.A/Say");
  table.forget_listener(1, {});
  EXPECT_EQ(table.find(1, "/a.A/Say"), nullptr);
  EXPECT_NE(table.find(2, "/a.A/Say"), nullptr);
  EXPECT_EQ(table.unknown(1, "/a.A/Say").code, StatusCode::kUnavailable);
}

TEST(RouteTable, AMemoSavesTheLookUpUntilRoutesGo) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  RouteMemo memo;
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), nullptr);
  Route* route = table.add(1, "/a.A/Say");
  table.add(2, "/a.A/Say");
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), route) << "that it was unknown is not remembered";
  EXPECT_EQ(table.find(1, "not looked at", &memo), route);
  table.forget_listener(2, {});
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), route);
  table.forget_listener(1, {});
  EXPECT_EQ(table.find(1, "/a.A/Say", &memo), nullptr);
}

TEST(RouteTable, AForgottenRouteStaysWhileACallUsesIt) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  Route* used = table.add(1, "/a.A/Say");
  table.forget_listener(1, {used});
  EXPECT_EQ(used->path, "/a.A/Say");  // ASan tells if it is gone
  EXPECT_TRUE(used->targets.empty());
  EXPECT_EQ(table.size(), 0u);
  table.forget_listener(1, {});
}

TEST(RouteTable, ARemovedHostServesNoRouteAndOthersGoOn) {
  ThreadMetrics metrics(0);
  RouteTable table(metrics);
  HostLink one(make_attachment(1, {}, {}), 0, metrics), two(make_attachment(1, {}, {}), 0, metrics);
  Route* route = table.add(1, "/a.A/Say");
  route->targets = {{&one, 0}, {&two, 7}};
  table.remove_host(&one);
  ASSERT_EQ(route->targets.size(), 1u);
  EXPECT_EQ(route->targets[0].link, &two);
  EXPECT_EQ(table.find(1, "/a.A/Say"), route);
}

}  // namespace
}  // namespace drover::engine
