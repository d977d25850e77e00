// The network half with the reliable transport, two of them over a bad network: every line once, in the order of its
// connection. nic_net_peer_test.cc has one against the C++ reference.
#include <Vnic_net_reliable.h>

#include <map>
#include <random>

#include "rtl/nic/nic_net_network_testing.h"
#include "testing/long_runs.h"

namespace drover::rtl::nic {
namespace {

using testing::kClientEnd;
using testing::kServerEnd;
using testing::make_line;
using testing::same_line;

using Nic = NicNet<Vnic_net_reliable>;

// Connection c of one is connection c of the other, with keys of its own; both ends' lines are numbered by connection.
class Two {
 public:
  Two(const BenchOptions& options, const Weather& weather, uint32_t seed, size_t latency = 5)
      : a(options), b(other(options)), network(weather, seed, latency) {
    a.also = [this] {
      b.cycle();
      network.move(a.network.out, b.network.in);
      network.move_back(b.network.out, a.network.in);
    };
  }

  // Whatever is there before the first cycles() together runs alone.
  void open(uint16_t c, uint32_t generation = 0, uint32_t first = 0, uint32_t expected = 0) {
    ConnectionEntry entry = make_entry(kServerEnd, c, 100 + c + generation, 5000 + c + generation, c % 4);
    entry.next = first;
    entry.expected = expected;
    ASSERT_EQ(a.open(c, entry), CommandResult::kOk);
    entry = make_entry(kClientEnd, c, 5000 + c + generation, 100 + c + generation, c % 4);
    entry.next = expected;
    entry.expected = first;
    ASSERT_EQ(b.open(c, entry), CommandResult::kOk);
  }
  void send(bool from_a, uint16_t c) {
    Nic& nic = from_a ? a : b;
    nic.lines.send(make_line(sent[from_a][c]++, c), c % 4);
    ++total[from_a];
  }
  // Checks what has come. Whether all has.
  bool all_came() {
    check(a, 0);
    check(b, 1);
    return came[0] == total[0] && came[1] == total[1];
  }
  void run(size_t cycles) {
    for (size_t i = 0; i < cycles; ++i) a.cycle();
  }
  void run_until_all_came(size_t cycles) {
    for (size_t i = 0; i < cycles && !all_came() && !::testing::Test::HasFailure(); i += 50) run(50);
    EXPECT_TRUE(all_came()) << came[0] << " of " << total[0] << ", " << came[1] << " of " << total[1];
  }

  Nic a, b;
  Network network;
  std::map<uint16_t, uint32_t> sent[2], next[2];  // by the sender: 0 is b, 1 is a
  size_t total[2] = {}, came[2] = {};

 private:
  static BenchOptions other(BenchOptions options) {
    options.own = kServerEnd;
    options.seed += 1000;
    return options;
  }
  void check(Nic& nic, int from_a) {
    while (!nic.host.received.empty()) {
      ReceivedLine got = nic.host.received.front();
      nic.host.received.pop_front();
      uint16_t c = got.line.connection;
      ASSERT_TRUE(same_line(got.line, make_line(next[from_a][c], c)))
          << "connection " << c << ": " << got.line.call << " instead of " << next[from_a][c];
      ++next[from_a][c];
      ASSERT_EQ(got.flow, c % 4);
      ++came[from_a];
    }
  }
};

TEST(NicNetReliable, ALineACycleEachWayAtOnce) {
  constexpr uint32_t kLines = 6000;
  Two two({}, {}, 1);
  for (Nic* nic : {&two.a, &two.b}) nic->set_timing({.tick_cycles = 1000});
  for (uint16_t c = 0; c < 16; ++c) two.open(c);
  for (uint32_t i = 0; i < kLines; ++i) two.send(true, i % 16), two.send(false, i % 16);
  uint64_t begin = two.a.now();
  two.run(kLines + 120);
  EXPECT_TRUE(two.all_came()) << two.came[0] << " and " << two.came[1] << " in " << two.a.now() - begin << " cycles";
  EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, tx_again)), 0u);
  // Acks went with the data.
  EXPECT_LT(two.a.count(offsetof(NetworkRegisters, tx_acks)), kLines / 50);
}

TEST(NicNetReliable, OneWayTakesAnAckForHalfAWindow) {
  constexpr uint32_t kLines = 4000;
  Two two({}, {}, 1);
  for (Nic* nic : {&two.a, &two.b}) nic->set_timing({.tick_cycles = 1000});
  for (uint16_t c = 0; c < 16; ++c) two.open(c);
  for (uint32_t i = 0; i < kLines; ++i) two.send(true, i % 16);
  two.run(kLines + 200);
  EXPECT_TRUE(two.all_came());
  two.run(3000);
  EXPECT_LE(two.b.count(offsetof(NetworkRegisters, tx_acks)), kLines / 8 + 2 * 16);
  EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, tx_again)), 0u);
}

TEST(NicNetReliable, EveryLineOnceAndInOrderInBadWeather) {
  for (uint32_t seed = 1; seed <= 8u * testing::test_factor(); ++seed) {
    std::mt19937 random(seed);
    auto some = [&] { return static_cast<uint32_t>(random() % 21); };
    Weather weather{some(), some(), some(), some()};
    BenchOptions options{.stalls_of_256 = static_cast<uint32_t>(random() % 100),
                         .refused_of_256 = static_cast<uint32_t>(random() % 60),
                         .seed = seed};
    Two two(options, weather, seed, 1 + random() % 60);
    for (Nic* nic : {&two.a, &two.b}) nic->set_timing({.max_resends = 63});
    for (uint16_t c = 0; c < 12; ++c) two.open(c);
    for (int i = 0; i < 1200; ++i) two.send(random() % 2 == 0, static_cast<uint16_t>(random() % 12));
    two.run_until_all_came(400000);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
    two.network.set_weather({});
    two.run(20000);
    uint64_t frames = two.a.network.sent + two.b.network.sent;
    two.run(6000);
    EXPECT_EQ(two.a.network.sent + two.b.network.sent, frames) << "nothing is left to say";
    EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, deaths)) + two.b.count(offsetof(NetworkRegisters, deaths)), 0u);
  }
}

TEST(NicNetReliable, MoreConnectionsThanPlaces) {
  for (uint32_t seed = 1; seed <= 4u * testing::test_factor(); ++seed) {
    std::mt19937 random(seed * 77);
    Weather weather = seed == 1 ? Weather{} : Weather{.loss = 5, .repeat = 5, .reorder = 5, .damage = 5};
    Two two({.stalls_of_256 = 30, .refused_of_256 = 20, .seed = seed, .table = {.latency = 40, .stalls_of_256 = 40}},
            weather, seed);
    for (Nic* nic : {&two.a, &two.b}) nic->set_timing({.max_resends = 63});
    for (uint16_t c = 0; c < 40; ++c) two.open(c);
    for (int i = 0; i < 800; ++i) two.send(random() % 2 == 0, static_cast<uint16_t>(random() % 40));
    two.run_until_all_came(2000000);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
    EXPECT_GT(two.a.count(offsetof(NetworkRegisters, evictions)), 50u);
    EXPECT_EQ(two.a.table_violations() + two.b.table_violations(), 0u);
  }
}

TEST(NicNetReliable, SequenceNumbersWrap) {
  Two two({.seed = 5}, {.loss = 10, .repeat = 10, .reorder = 10}, 5);
  two.open(2, 0, 0xfffffff8, 0x7ffffff0);
  two.open(3, 0, 0x7ffffffa, 0xfffffffe);
  for (int i = 0; i < 200; ++i) two.send(i % 2 == 0, 2 + i / 2 % 2);
  two.run_until_all_came(200000);
  ConnectionEntry entry{};
  two.run(2000);
  ASSERT_EQ(two.a.read_entry(2, &entry), CommandResult::kOk);
  EXPECT_EQ(entry.next, 0xfffffff8u + 50);
  EXPECT_EQ(entry.expected, 0x7ffffff0u + 50);
}

TEST(NicNetReliable, AFlowWithoutRoomStopsNoOther) {
  Two two({}, {}, 3);
  for (uint16_t c = 0; c < 8; ++c) two.open(c);
  two.a.lines.heeds_room = true;
  two.b.host.full_flows = 1 << 2;  // connections 2 and 6
  for (int i = 0; i < 100; ++i) two.send(true, 2), two.send(true, 6);
  for (int i = 0; i < 100; ++i) two.send(true, 1), two.send(true, 7);
  two.run(3000);
  two.all_came();
  EXPECT_EQ(two.next[1][1], 100u);
  EXPECT_EQ(two.next[1][7], 100u);
  EXPECT_EQ(two.next[1][2], 0u);
  EXPECT_GT(two.b.frames(FrameRefusal::kNoRoom), 0u);
  two.run(30000);  // far longer than a dead end would take: this one answers
  two.b.host.full_flows = 0;
  two.run_until_all_came(30000);
  EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, deaths)), 0u);
}

TEST(NicNetReliable, AnEndThatDoesNotAnswerIsReportedDead) {
  Two two({}, {.loss = 100}, 3);
  two.open(1);
  two.open(2);
  two.a.lines.heeds_room = true;
  two.a.set_timing({.tick_cycles = 20, .resend_ticks = 2, .max_doublings = 2, .max_resends = 3});
  for (int i = 0; i < 40; ++i) two.send(true, 1);
  two.run(3000);
  EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, deaths)), 1u);
  EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, timeouts)), 3u);
  EXPECT_EQ(two.a.read(offsetof(NetworkRegisters, last_dead)), 1u);
  EXPECT_EQ(two.a.count(offsetof(NetworkRegisters, tx_dead)), 40u - 16u);
  ConnectionEntry entry{};
  ASSERT_EQ(two.a.read_entry(1, &entry), CommandResult::kOk);
  EXPECT_EQ(entry.state, static_cast<uint8_t>(ConnectionState::kDead));
  // With new keys it begins anew; what is left of the old one is refused.
  two.network.set_weather({});
  two.sent[1][1] = two.next[1][1] = 0;
  two.total[1] = two.came[1] = 0;
  two.open(1, 7);
  two.send(true, 2);
  for (int i = 0; i < 40; ++i) two.send(true, 1), two.send(false, 1);
  two.run_until_all_came(5000);
}

TEST(NicNetReliable, ADeadEndStopsNoOther) {
  Two two({}, {}, 3);
  for (uint16_t c = 0; c < 8; ++c) two.open(c);
  two.a.lines.heeds_room = true;
  ASSERT_EQ(two.b.close(1), CommandResult::kOk);
  for (int i = 0; i < 60; ++i) two.a.lines.send(make_line(i, 1), 1);
  for (int i = 0; i < 500; ++i) two.send(true, 2), two.send(true, 3), two.send(true, 4);
  two.run(4000);
  EXPECT_TRUE(two.all_came());
}

TEST(NicNetReliable, AConnectionWhosePlaceIsInUseIsServedAllTheSame) {
  Two two({}, {}, 3);
  for (uint16_t c : {1, 17, 2}) two.open(c);
  two.a.lines.heeds_room = true;
  ASSERT_EQ(two.b.close(1), CommandResult::kOk);  // it will never acknowledge
  two.a.lines.send(make_line(0, 1), 1);
  two.run(100);
  // 17 has the place of 1: what comes for it is taken and acknowledged, what it sends has to wait, on its flow only.
  for (int i = 0; i < 20; ++i) two.send(false, 17), two.send(true, 2);
  two.run(3000);
  two.all_came();
  EXPECT_EQ(two.next[0][17], 20u);
  EXPECT_EQ(two.next[1][2], 20u);
  for (int i = 0; i < 20; ++i) two.send(true, 17);
  two.run(1000);
  for (int i = 0; i < 20; ++i) two.send(true, 2), two.send(false, 17);
  two.run(3000);
  two.all_came();
  EXPECT_EQ(two.next[0][17], 40u);
  EXPECT_EQ(two.next[1][2], 40u);
  EXPECT_EQ(two.next[1][17], 0u);
  ASSERT_EQ(two.a.close(1), CommandResult::kOk);
  two.run_until_all_came(3000);
}

TEST(NicNetReliable, AConnectionInSteadyUseMakesRoomForAnother) {
  Two two({}, {}, 3);
  for (uint16_t c : {1, 17}) two.open(c);
  two.a.lines.heeds_room = true;
  for (int i = 0; i < 3000; ++i) two.send(true, 1);
  two.run(300);  // lines of 1 are always in flight
  for (int i = 0; i < 20; ++i) {
    two.a.lines.send(make_line(two.sent[1][17]++, 17), 3);
    ++two.total[1];
  }
  for (int i = 0; i < 400 && two.next[1][17] < 20; ++i) two.run(50), two.all_came();
  EXPECT_EQ(two.next[1][17], 20u);
  EXPECT_LT(two.next[1][1], 3000u);
  two.run_until_all_came(100000);
}

TEST(NicNetReliable, FramesFromBeforeAConnectionWasOpenedAnewAreRefused) {
  std::mt19937 random(9);
  Two two({}, {.loss = 5, .repeat = 20, .reorder = 30}, 9, 2000);
  for (uint32_t generation = 0; generation < 20; ++generation) {
    two.open(5, generation * 1000);
    two.total[0] = two.total[1] = two.came[0] = two.came[1] = 0;
    for (int way : {0, 1}) two.sent[way][5] = two.next[way][5] = 0;
    two.a.host.received.clear();
    two.b.host.received.clear();
    for (int i = 0; i < 30; ++i) two.send(random() % 2 == 0, 5);
    if (generation == 19) {
      two.run_until_all_came(400000);
    } else {
      two.run(random() % 6000);
      ASSERT_EQ(two.a.close(5), CommandResult::kOk);
      ASSERT_EQ(two.b.close(5), CommandResult::kOk);
      two.run(
          800);  // what waits at the host's side is dropped: the connection is closed; frames are still on their way
    }
  }
  EXPECT_GT(two.a.frames(FrameRefusal::kUnknownConnection) + two.b.frames(FrameRefusal::kKey) +
                two.a.frames(FrameRefusal::kKey),
            0u);
}

TEST(NicNetReliable, AConnectionIsChangedWhileItsLinesGo) {
  Two two({.stalls_of_256 = 30}, {.loss = 5, .reorder = 5}, 13);
  for (uint16_t c = 0; c < 4; ++c) two.open(c);
  for (int i = 0; i < 600; ++i) two.send(true, i % 4), two.send(false, i % 4);
  for (int i = 0; i < 40; ++i) {
    two.run(20);
    uint16_t c = i % 4;
    ConnectionEntry entry = make_entry(kServerEnd, c, 100 + c, 5000 + c, c % 4);
    entry.balance = static_cast<uint8_t>(i % 3);
    ASSERT_EQ(two.a.change(c, entry), CommandResult::kOk);
  }
  two.run_until_all_came(200000);
}

}  // namespace
}  // namespace drover::rtl::nic
