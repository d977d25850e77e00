// The network's figures, its losses, and the order that it keeps.
#include "sim/platform/network.h"

#include <gtest/gtest.h>

namespace drover::sim {
namespace {

constexpr Time kMicrosecond = 1000 * kNanosecond;

NetworkConfig of_switch() {
  return {.kind = NetworkKind::kSwitch, .delay = 300 * kNanosecond, .one_way = 10 * kNanosecond, .bandwidth = 1e9};
}

TEST(Network, ALoopBackIsADelay) {
  Network network({.delay = 20 * kNanosecond}, 2);
  Network::Sent sent = network.send(kMicrosecond, 0, 1, 128, 0);
  EXPECT_FALSE(sent.lost);
  EXPECT_EQ(sent.there, kMicrosecond + 20 * kNanosecond);
}

TEST(Network, ASwitchTakesTwoLinksAndItsDelay) {
  Network network(of_switch(), 2);
  EXPECT_EQ(network.send(0, 0, 1, 100, 0).there, (100 + 10 + 300 + 100 + 10) * kNanosecond);
  // The second waits for the first on both links.
  EXPECT_EQ(network.send(0, 0, 1, 100, 1).there, (200 + 10 + 300 + 100 + 10) * kNanosecond);
  EXPECT_EQ(network.counters().busiest, 200 * kNanosecond);
}

TEST(Network, PacketsOfOneKeyKeepTheirOrder) {
  NetworkConfig config = of_switch();
  config.reorder = 0.5;
  config.reorder_delay = 10 * kMicrosecond;
  uint64_t overtaken = 0;
  for (bool of_keys : {false, true}) {
    config.reorder_keys = of_keys;
    Network network(config, 2);
    Time last[2] = {0, 0}, last_any = 0;
    uint64_t overtaken_keys = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
      Time there = network.send(i * kMicrosecond, 0, 1, 100, i % 2).there;
      overtaken_keys += there < last[i % 2] ? 1 : 0;
      overtaken += there < last_any ? 1 : 0;
      last[i % 2] = last_any = there;
    }
    EXPECT_EQ(overtaken_keys > 0, of_keys);
  }
  EXPECT_GT(overtaken, 0u);
}

TEST(Network, LosesItsShareAndIsTheSameForASeed) {
  NetworkConfig config = of_switch();
  config.loss = 0.1;
  auto lost = [&] {
    Network network(config, 2);
    for (uint64_t i = 0; i < 10'000; ++i) network.send(i * kMicrosecond, 0, 1, 100, i);
    return network.counters().lost;
  };
  EXPECT_NEAR(static_cast<double>(lost()), 1000, 150);
  EXPECT_EQ(lost(), lost());
}

}  // namespace
}  // namespace drover::sim
