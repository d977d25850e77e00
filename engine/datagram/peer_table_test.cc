// Links over a simulated network: how they are made, that every slot comes once and in order, how fast they send, and
// how they end.
#include "engine/datagram/peer_table.h"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/datagram/peer_testing.h"

namespace drover::engine {
namespace {

using testing::TestNetwork;
using testing::TestPeer;

constexpr int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;

std::vector<uint32_t> count_to(uint32_t end) {
  std::vector<uint32_t> all(end);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// Pushes `count` slots as there is room; false: they did not all come within ten simulated minutes.
bool push_all(TestNetwork& network, TestPeer& from, PeerLink& link, TestPeer& to, uint32_t count) {
  uint32_t pushed = 0;
  const uint64_t before = to.taken;
  return network.run_until(network.now_ns + 600 * kSecond, [&] {
    while (pushed < count && from.push(link, pushed)) ++pushed;
    return to.taken - before >= count;
  });
}

TEST(PeerTable, ALinkIsMadeAndCarriesSlotsBothWays) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2);
  PeerLink* link = a.open(b);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(a.push(*link, i));
  network.run_for(10 * kMs);
  ASSERT_EQ(b.links.size(), 1u);
  EXPECT_EQ(b.came[b.links[0]], count_to(100));
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(b.push(*b.links[0], i));
  network.run_for(10 * kMs);
  EXPECT_EQ(a.came[link], count_to(100));
  EXPECT_FALSE(a.damaged || b.damaged);
  EXPECT_EQ(link->queued(), 0u);
}

TEST(PeerTable, SlotsOfOneTurnShareDatagrams) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2);
  PeerLink* link = a.open(b);
  network.run_for(10 * kMs);
  const uint64_t before = a.sent;
  for (uint32_t i = 0; i < 220; ++i) a.push(*link, i);
  network.run_for(1 * kMs);
  EXPECT_EQ(a.sent - before, 10u);
}

// Seeds by the hundred; both directions at once, and the echo of each slot.
TEST(PeerTable, EverySlotComesOnceAndInOrderInBadWeather) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    TestNetwork network(seed);
    TestPeer a(network, 1), b(network, 2);
    b.echo = true;
    const auto per_cent = [&] { return static_cast<int>(network.random() % 25); };
    network.weather = {.loss = per_cent(), .repeat = per_cent(), .late = per_cent()};
    PeerLink* link = a.open(b);
    const uint32_t count = 1 + network.random() % 3000;
    ASSERT_TRUE(push_all(network, a, *link, b, count)) << seed;
    ASSERT_TRUE(network.run_until(network.now_ns + 600 * kSecond, [&] { return a.taken == count; })) << seed;
    network.run_for(2 * kSecond);
    ASSERT_EQ(b.came[b.links.at(0)], count_to(count)) << seed;
    ASSERT_EQ(a.came[link], count_to(count)) << seed;
    ASSERT_FALSE(a.damaged || b.damaged) << seed;
  }
}

TEST(PeerTable, SequencesGoOnWhereTheirLowHalfWraps) {
  LinkMemory memory;
  SlotReceiver receiver(64, memory);
  EXPECT_EQ(receiver.number(5), 5u);
  EXPECT_EQ(receiver.number(0xffffffff), UINT64_MAX);  // before the first
  const Slot slot = testing::slot_of(1);
  std::vector<Slot> slots(64, slot);
  for (uint64_t first = 0; first < 1000; first += 10) {
    EXPECT_EQ(receiver.take(first, 10, reinterpret_cast<const std::byte*>(slots.data()),
                            [](const std::byte*) { return true; }),
              LinkRefusal::kOk);
  }
  EXPECT_EQ(receiver.number(1003), 1003u);
  EXPECT_EQ(receiver.number(990), 990u);
}

TEST(PeerTable, KeysOfLaterEpochsAreOthers) {
  LinkKeys keys(7), same(7), other(8);
  const uint64_t wrapped = uint64_t{1} << 32;
  EXPECT_EQ(keys.of(5), same.of(6));
  EXPECT_NE(keys.of(5), keys.of(5 + wrapped));
  EXPECT_EQ(keys.of(5), same.of(5));
  EXPECT_NE(keys.of(5), other.of(5));
}

// ---- rates

struct Flow {
  Flow(TestNetwork& network, uint8_t from, TestPeer& to) : peer(network, from), link(peer.open(to)) {
    peer.keep = false;
  }
  void fill() {
    while (link->queued() < 8192 && peer.push(*link, 0)) {
    }
  }
  TestPeer peer;
  PeerLink* link;
};

// Slots a second that came through, of each link.
std::vector<double> rates(TestNetwork& network, std::vector<Flow*> flows, TestPeer& to, int64_t ns) {
  std::vector<uint64_t> before;
  for (Flow* flow : flows) before.push_back(flow->link->sender().acked());
  (void)to;
  network.run_until(network.now_ns + ns, [&] {
    for (Flow* flow : flows) flow->fill();
    return false;
  });
  std::vector<double> result;
  for (size_t i = 0; i < flows.size(); ++i) {
    result.push_back(static_cast<double>(flows[i]->link->sender().acked() - before[i]) * 1e9 / static_cast<double>(ns));
  }
  return result;
}
double slots_of(double bytes_a_ns) { return bytes_a_ns * 1e9 / (22 * 64 + 22 + 42) * 22; }

TEST(PeerTableRate, ALinkFillsALimitedNetworkAndFollowsItsRate) {
  TestNetwork network;
  network.weather = {.delay_ns = 100'000, .bytes_a_ns = 0.125, .queue = 256 << 10};  // 1 Gbit/s
  TestPeer to(network, 9);
  to.keep = false;
  Flow flow(network, 1, to);
  rates(network, {&flow}, to, 2 * kSecond);
  EXPECT_GT(rates(network, {&flow}, to, kSecond)[0], 0.8 * slots_of(0.125));
  network.weather.bytes_a_ns = 0.0125;
  rates(network, {&flow}, to, 2 * kSecond);
  const uint64_t resent = flow.link->sender().resent(), sent = flow.peer.sent;
  EXPECT_GT(rates(network, {&flow}, to, 2 * kSecond)[0], 0.8 * slots_of(0.0125));
  const auto more = static_cast<double>(flow.link->sender().resent() - resent);
  EXPECT_LT(more, 0.02 * static_cast<double>(flow.peer.sent - sent));  // it does not fill the queue until it overflows
  network.weather.bytes_a_ns = 0.125;
  rates(network, {&flow}, to, 3 * kSecond);
  EXPECT_GT(rates(network, {&flow}, to, kSecond)[0], 0.8 * slots_of(0.125));
}

TEST(PeerTableRate, TheQueueOfALimitedNetworkStaysShort) {
  TestNetwork network;
  network.weather = {.delay_ns = 50'000, .bytes_a_ns = 0.125, .queue = 4 << 20};
  TestPeer to(network, 9);
  to.keep = false;
  Flow flow(network, 1, to);
  rates(network, {&flow}, to, 2 * kSecond);
  EXPECT_EQ(network.overflows, 0u);
  EXPECT_LT(flow.link->sender().congestion().round_trip_ns(), 2 * kMs);
}

TEST(PeerTableRate, LinksThatShareANetworkHaveLikeShares) {
  TestNetwork network;
  network.weather = {.delay_ns = 100'000, .bytes_a_ns = 0.125, .queue = 256 << 10};
  TestPeer to(network, 9);
  to.keep = false;
  Flow first(network, 1, to);
  rates(network, {&first}, to, kSecond);
  Flow second(network, 2, to);  // it comes later
  rates(network, {&first, &second}, to, 3 * kSecond);
  const std::vector<double> both = rates(network, {&first, &second}, to, 3 * kSecond);
  EXPECT_GT(both[0] + both[1], 0.8 * slots_of(0.125));
  EXPECT_GT(both[0], 0.25 * (both[0] + both[1]));
  EXPECT_GT(both[1], 0.25 * (both[0] + both[1]));
}

TEST(PeerTableRate, LossHalvesTheWindowOnceARoundTrip) {
  Congestion congestion;
  congestion.measured(100'000, kMs);
  for (int i = 0; i < 100; ++i) congestion.acknowledged(22, congestion.window());
  const uint32_t before = congestion.window();
  congestion.lost(kMs, 2 * kMs);
  EXPECT_EQ(congestion.window(), before / 2);
  congestion.lost(kMs, 2 * kMs + 1000);
  EXPECT_EQ(congestion.window(), before / 2);
}

TEST(PeerTableRate, TimeOutsDoubleAndTheSecondOneClosesTheWindow) {
  Congestion congestion;
  congestion.measured(100'000, kMs);
  const uint32_t before = congestion.window();
  const int64_t first = congestion.timeout_ns();
  congestion.timed_out();
  EXPECT_EQ(congestion.window(), before);
  EXPECT_EQ(congestion.timeout_ns(), 2 * first);
  congestion.timed_out();
  EXPECT_EQ(congestion.window(), CongestionOptions{}.least);
}

// ---- the end of links

TEST(PeerTableEnd, AnEngineThatGoesDownSaysSo) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2);
  a.open(b);
  network.run_for(10 * kMs);
  b.table->end_all(network.now_ns, b);
  b.up = false;
  network.run_for(10 * kMs);
  EXPECT_EQ(a.ended, std::vector<std::string>{"the other engine ended the link"});
  EXPECT_EQ(a.table->links(), 0u);
}

TEST(PeerTableEnd, AnEngineThatIsSilentIsDeadAfterTheTimeOut) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2);
  PeerLink* link = a.open(b);
  network.run_for(100 * kMs);
  b.up = false;
  a.push(*link, 1);
  network.run_for(2'800 * kMs);
  EXPECT_TRUE(a.ended.empty());
  network.run_for(500 * kMs);
  EXPECT_EQ(a.ended, std::vector<std::string>{"the other engine was not heard for lines.peer_timeout_ms"});
}

TEST(PeerTableEnd, AnEngineThatWasStoppedItselfGivesItsPeersAsMuchLonger) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2);
  a.open(b);
  network.run_for(100 * kMs);
  a.up = b.up = false;
  network.now_ns += 20 * kSecond;
  a.up = b.up = true;
  network.run_for(5 * kSecond);
  EXPECT_TRUE(a.ended.empty());
  EXPECT_TRUE(b.ended.empty());
}

TEST(PeerTableEnd, ALinkThatIsUsedStaysAndOneThatIsNotEnds) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2), c(network, 3);
  a.open(b)->uses = 1;
  a.open(c);
  network.run_for(65 * kSecond);
  EXPECT_EQ(a.ended, std::vector<std::string>{"it was not in use"});
  EXPECT_EQ(c.ended, std::vector<std::string>{"the other engine ended the link"});
  EXPECT_TRUE(b.ended.empty());
}

// What is in flight to an engine that starts anew is answered by a reset: the link ends within a round trip, and
// nothing of it reaches the new engine's hosts.
TEST(PeerTableEnd, AnEngineThatStartsAnewIsNoticedByTheNextDatagram) {
  TestNetwork network;
  TestPeer a(network, 1);
  auto b = std::make_unique<TestPeer>(network, 2);
  PeerLink* link = a.open(*b);
  network.run_for(10 * kMs);
  b->up = false;
  TestPeer anew(network, 2);
  a.push(*link, 1);
  network.run_for(10 * kMs);
  EXPECT_EQ(a.ended, std::vector<std::string>{"the other engine does not know the link: it has started anew"});
  EXPECT_EQ(anew.taken, 0u);
  PeerLink* again = a.open(anew);
  a.push(*again, 2);
  network.run_for(10 * kMs);
  EXPECT_EQ(anew.taken, 1u);
}

TEST(PeerTableEnd, AnOpenerThatStartsAnewTakesThePlaceOfItsLink) {
  TestNetwork network;
  TestPeer b(network, 2);
  auto a = std::make_unique<TestPeer>(network, 1);
  a->open(b);
  network.run_for(10 * kMs);
  a->up = false;
  TestPeer anew(network, 1);
  PeerLink* link = anew.open(b);
  anew.push(*link, 3);
  network.run_for(200 * kMs);
  EXPECT_EQ(b.ended, std::vector<std::string>{"the other engine has started anew"});
  EXPECT_EQ(b.taken, 1u);
  EXPECT_EQ(b.table->links(), 1u);
}

TEST(PeerTableEnd, AnAddressWhereNoEngineIsEndsTheAttempt) {
  TestNetwork network;
  TestPeer a(network, 1), b(network, 2);
  b.up = false;
  a.open(b);
  network.run_for(4 * kSecond);
  EXPECT_EQ(a.ended, std::vector<std::string>{"no engine answers there"});
  EXPECT_LT(a.sent, 15u);
}

// ---- limits

TEST(PeerTableLimits, OneAddressOpensSoManyLinksAndOthersStillMore) {
  TestNetwork network;
  PeerOptions options;
  options.max_of_address = 1;
  options.max_peers = 2;
  TestPeer b(network, 9, options), a(network, 1), c(network, 2), d(network, 3);
  for (TestPeer* peer : {&a, &c, &d}) peer->open(b);
  network.run_for(100 * kMs);
  for (PeerLink* link : b.links) link->uses = 1;
  network.run_for(4 * kSecond);
  EXPECT_EQ(b.table->links(), 2u);
  EXPECT_GT(b.table->refused(LinkRefusal::kTooManyPeers), 0u);
}

TEST(PeerTableLimits, ALinkWithoutUseMakesRoomForAnother) {
  TestNetwork network;
  PeerOptions options;
  options.max_peers = 1;
  TestPeer b(network, 9, options), a(network, 1), c(network, 2);
  a.open(b);
  network.run_for(10 * kMs);
  PeerLink* second = c.open(b);
  c.push(*second, 1);
  network.run_for(500 * kMs);
  EXPECT_EQ(b.taken, 1u);
  EXPECT_EQ(b.ended.size(), 1u);
}

TEST(PeerTableLimits, AQueueThatIsNotAcknowledgedIsFullAtItsLimit) {
  TestNetwork network;
  PeerOptions options;
  options.peer_memory = 64 << 10;
  TestPeer a(network, 1, options), b(network, 2);
  PeerLink* link = a.open(b);
  uint32_t pushed = 0;
  while (a.push(*link, pushed)) ++pushed;
  EXPECT_EQ(pushed, 1024u);
  network.run_for(kSecond);
  EXPECT_EQ(b.taken, 1024u);
  EXPECT_TRUE(a.push(*link, pushed));
}

TEST(PeerTableLimits, TheMemoryOfAllLinksIsBoundedAndGivenBack) {
  TestNetwork network;
  PeerOptions options;
  options.memory = 128 << 10;
  TestPeer a(network, 1, options), b(network, 2), c(network, 3);
  PeerLink* first = a.open(b);
  PeerLink* second = a.open(c);
  uint32_t pushed = 0;
  while (a.push(*first, pushed)) ++pushed;
  EXPECT_GE(pushed, 512u);
  while (a.push(*second, pushed)) ++pushed;
  EXPECT_LE(a.table->memory().used, options.memory);
  EXPECT_LE(pushed, 2048u);
  network.run_for(kSecond);
  EXPECT_EQ(b.taken + c.taken, pushed);
  a.table->end_all(network.now_ns, a);
  EXPECT_EQ(a.table->memory().used, 0u);
}

}  // namespace
}  // namespace drover::engine
