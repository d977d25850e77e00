// How the NIC finds lines in TX rings, and how lines go to RX rings: polls, invalidations, batches, intervals.
#include <algorithm>

#include "rtl/nic/nic_host_testing.h"

namespace drover::rtl {
namespace {

#define COUNTER(bench, name) (bench).counter(offsetof(nic::NicCounters, name))

void set_poll(NicBench* bench, nic::PollRegister poll) { bench->set(offsetof(nic::ControlPage, poll), poll.encode()); }
void set_batch(NicBench* bench, nic::BatchRegister batch) {
  bench->set(offsetof(nic::ControlPage, batch), batch.encode());
}
void set_interval(NicBench* bench, nic::IntervalRegister interval) {
  bench->set(offsetof(nic::ControlPage, interval), interval.encode());
}
void steps(NicBench* bench, int cycles) {
  for (int i = 0; i < cycles; ++i) bench->step();
}
constexpr nic::PollRegister kNeverDirect{.threshold = 0xffff, .window = 1000, .interval = 10, .ahead = 4};

// ---- coherent

TEST(NicPoll, AnIdleFlowReadsNothingUntilTheHostWrites) {
  NicBench bench({});
  set_poll(&bench, kNeverDirect);
  bench.enable(0);
  ASSERT_TRUE(send_all(&bench, 1, 5));
  steps(&bench, 500);
  uint64_t reads = COUNTER(bench, reads);
  steps(&bench, 5000);
  EXPECT_EQ(COUNTER(bench, reads), reads);
  ASSERT_TRUE(bench.send(0, line_of(0, 5)));
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 6; }, 300));
  expect_own_lines(&bench, 0, 6);
  EXPECT_GE(COUNTER(bench, waits), 1u);
  EXPECT_GE(COUNTER(bench, invalidations), 1u);
}

// A line written at any time relative to its poll: before the address, between address and data, after it.
TEST(NicPoll, NoWakeUpIsLostHoweverTheWriteMeetsThePoll) {
  for (uint32_t snoop : {1u, 5u, 40u}) {
    for (uint32_t cached : {1u, 30u}) {
      NicBench bench({.reads = {.latency = 30, .cached = cached, .snoop = snoop}});
      set_poll(&bench, kNeverDirect);
      set_batch(&bench, {.tx_lines = 2, .rx_lines = 1, .rx_timeout = 0});
      bench.enable(0);
      for (uint32_t i = 0; i < 300; ++i) {
        ASSERT_TRUE(bench.send(0, line_of(0, i)));
        ASSERT_TRUE(bench.run_until([&] { return bench.received() == i + 1; }, 1000)) << "line " << i;
        steps(&bench, static_cast<int>(i % 97));
      }
      expect_own_lines(&bench, 0, 300);
      EXPECT_GT(bench.reads().from_cache(), 0u);
    }
  }
}

TEST(NicPoll, AFlowThatWaitsPollsAnywayAtRefreshes) {
  NicBench bench({.reads = {.snoop = 1'000'000}});  // no invalidation comes
  set_poll(&bench, kNeverDirect);
  steps(&bench, 20);
  NicFlow at = bench.layout(0);
  for (const NicStore& word : nic_enable(at)) bench.store(word.address, word.value);
  steps(&bench, 500);
  EXPECT_EQ(COUNTER(bench, reads), 1u);
  set_interval(&bench, {.publish = 256, .look = 128, .refresh = 100});
  steps(&bench, 1000);
  uint64_t reads = COUNTER(bench, reads);
  EXPECT_GE(reads, 8u);
  EXPECT_LE(reads, 13u);
}

TEST(NicPoll, AFlowWithManyLinesIsPolledDirectlyUntilTheRateFalls) {
  NicBench bench({.tx_lines = 1024, .rx_lines = 1024});
  set_poll(&bench, {.threshold = 20, .window = 400, .interval = 50, .ahead = 4});
  bench.enable(0);
  ASSERT_TRUE(send_all(&bench, 1, 10));
  EXPECT_EQ(COUNTER(bench, direct_begins), 0u);
  EXPECT_EQ(COUNTER(bench, reads_direct), 0u);
  steps(&bench, 1000);
  for (uint32_t i = 10; i < 500; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  ASSERT_TRUE(bench.run_until([&] { return COUNTER(bench, direct_begins) == 1; }, 50));
  EXPECT_TRUE(bench.status(0).direct);
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 500; }));
  steps(&bench, 1500);
  EXPECT_EQ(COUNTER(bench, direct_begins), 1u);
  EXPECT_EQ(COUNTER(bench, direct_ends), 1u);
  EXPECT_FALSE(bench.status(0).direct);
  uint64_t reads = COUNTER(bench, reads);
  steps(&bench, 2000);  // it waits again
  EXPECT_EQ(COUNTER(bench, reads), reads);
  ASSERT_TRUE(bench.send(0, line_of(0, 500)));
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 501; }, 300));
  expect_own_lines(&bench, 0, 501);
}

TEST(NicPoll, DirectPollsThatFindLittleKeepTheirInterval) {
  NicBench bench({});
  set_poll(&bench, {.threshold = 0, .window = 60'000, .interval = 100, .ahead = 4});
  bench.enable(0);
  ASSERT_TRUE(send_all(&bench, 1, 1));  // more than the threshold: direct for a window
  steps(&bench, 200);
  uint64_t reads = COUNTER(bench, reads_direct);
  steps(&bench, 2000);
  reads = COUNTER(bench, reads_direct) - reads;
  EXPECT_GE(reads, 18u);
  EXPECT_LE(reads, 22u);
}

// Direct for a window of 60,000 cycles, since a line has come; a poll takes 300 cycles.
NicBench quiet_bench(uint32_t flows) { return NicBench({.flows = flows, .reads = {.latency = 300}}); }
void begin_quiet(NicBench* bench, uint32_t flows, nic::PollRegister poll) {
  set_poll(bench, poll);
  set_batch(bench, {.tx_lines = 4, .rx_lines = 1, .rx_timeout = 0});
  for (uint32_t flow = 0; flow < flows; ++flow) bench->enable(flow);
  ASSERT_TRUE(send_all(bench, flows, 1));
  steps(bench, 500);
}

TEST(NicPoll, PollsOfAQuietFlowOverlap) {
  NicBench bench = quiet_bench(1);
  begin_quiet(&bench, 1, {.threshold = 0, .window = 60'000, .interval = 50, .ahead = 8});
  uint64_t reads = COUNTER(bench, reads_direct);
  steps(&bench, 3000);
  reads = COUNTER(bench, reads_direct) - reads;
  EXPECT_GE(reads, 55u);
  EXPECT_LE(reads, 62u);
  // Whenever it comes, a line waits for an interval, and not for a poll to be back.
  uint64_t longest = 0;
  for (uint32_t i = 1; i <= 60; ++i) {
    steps(&bench, 400 + 7 * static_cast<int>(i));
    uint64_t begin = bench.nic().cycles();
    ASSERT_TRUE(bench.send(0, line_of(0, i)));
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == i + 1; }, 1000));
    longest = std::max(longest, bench.nic().cycles() - begin);
  }
  EXPECT_LE(longest, 300u + 50 + 45) << "a poll, an interval, the way through the NIC";
  EXPECT_EQ(COUNTER(bench, direct_begins), 1u);
  expect_own_lines(&bench, 0, 61);
}

TEST(NicPoll, ManyQuietFlowsArePolledOneByOne) {
  NicBench bench = quiet_bench(8);
  begin_quiet(&bench, 8, {.threshold = 0, .window = 60'000, .interval = 10, .ahead = 4});
  uint64_t reads = COUNTER(bench, reads_direct);
  steps(&bench, 3100);
  reads = COUNTER(bench, reads_direct) - reads;
  EXPECT_GE(reads, 8u * 8) << "each flow a poll at any time";
  EXPECT_LE(reads, 8u * 11) << "and no more, since the NIC has more than four under way";
}

TEST(NicPoll, LinesThatOverlappingPollsBringTwiceAreTakenOnce) {
  NicBench bench = quiet_bench(1);
  begin_quiet(&bench, 1, {.threshold = 0, .window = 60'000, .interval = 5, .ahead = 8});
  uint32_t sent = 1;
  for (uint32_t burst = 1; burst <= 40; ++burst) {  // over the ring's end, while polls that began earlier come back
    for (uint32_t i = 0; i < burst % 9; ++i) {
      ASSERT_TRUE(bench.run_until([&] { return bench.send(0, line_of(0, sent)); }, 3000));
      ++sent;
      steps(&bench, static_cast<int>(burst * i % 23));
    }
    steps(&bench, static_cast<int>(burst * 37 % 600));
  }
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == sent; }, 2000));
  expect_own_lines(&bench, 0, sent);
}

TEST(NicPoll, TheBatchFollowsTheLoad) {
  NicBench bench({.tx_lines = 256, .rx_lines = 256});
  set_poll(&bench, kNeverDirect);
  set_batch(&bench, {.tx_lines = 16, .adaptive = true, .rx_lines = 16, .rx_timeout = 10});
  bench.enable(0);
  for (uint32_t i = 0; i < 100; ++i) {  // one by one: polls stay short
    ASSERT_TRUE(bench.send(0, line_of(0, i)));
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == i + 1; }, 300));
  }
  uint64_t slow = bench.reads().beats();
  EXPECT_LE(slow, 500u);
  for (uint32_t i = 100; i < 300; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  uint64_t reads = COUNTER(bench, reads);
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 300; }));
  EXPECT_LE(COUNTER(bench, reads) - reads, 25u);  // 1, 2, 4, 8, then 16 lines each; the ring's ends
  expect_own_lines(&bench, 0, 300);
}

TEST(NicPoll, APollIsAsLongAsTheBatchSays) {
  for (uint8_t lines : {1, 3, 16}) {
    NicBench bench({.tx_lines = 64, .rx_lines = 64});
    set_poll(&bench, kNeverDirect);
    set_batch(&bench, {.tx_lines = lines, .rx_lines = 1, .rx_timeout = 0});
    bench.enable(0);
    steps(&bench, 100);
    EXPECT_EQ(COUNTER(bench, reads), 1u);
    EXPECT_EQ(bench.reads().beats(), lines);
    EXPECT_EQ(COUNTER(bench, reads_empty), 1u);
  }
}

// ---- doorbell

TEST(NicDoorbell, ReadsWhatOneDoorbellAnnouncesInBatches) {
  NicBench bench({.tx_interface = TxInterface::kDoorbell});
  set_batch(&bench, {.tx_lines = 8, .rx_lines = 8, .rx_timeout = 20});
  bench.enable(0);
  for (uint32_t i = 0; i < 24; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i), false));
  steps(&bench, 300);
  EXPECT_EQ(COUNTER(bench, reads), 0u);
  bench.announce(0);
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 24; }, 300));
  EXPECT_EQ(COUNTER(bench, doorbells), 1u);
  EXPECT_EQ(COUNTER(bench, reads), 3u);
  EXPECT_EQ(COUNTER(bench, reads_full), 3u);
  expect_own_lines(&bench, 0, 24);
}

// ---- positions of TX rings

TEST(NicPositions, AreWrittenEveryQuarterOfARingAndWhenLinesStopComing) {
  NicBench bench({.tx_lines = 64, .rx_lines = 64});
  set_interval(&bench, {.publish = 2000, .look = 100});
  bench.enable(0);
  NicFlow at = bench.layout(0);
  for (uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  ASSERT_TRUE(bench.run_until([&] { return bench.position(at.tx_position)->position.load() >= 16; }, 400));
  EXPECT_LT(bench.position(at.tx_position)->position.load(), 20u);
  ASSERT_TRUE(bench.run_until([&] { return bench.position(at.tx_position)->position.load() == 20; }, 4100));
  EXPECT_EQ(COUNTER(bench, positions_written), 2u);
  steps(&bench, 5000);
  EXPECT_EQ(COUNTER(bench, positions_written), 2u);
}

TEST(NicPositions, SynchronousThreadingNeedsNone) {
  for (TxInterface tx_interface : kInterfaces) {
    SCOPED_TRACE(nic::tx_interface_name(tx_interface));
    NicBench bench({.tx_interface = tx_interface, .synchronous = true, .tx_lines = 16, .rx_lines = 16});
    const auto hard = nic::HardRegister::decode(bench.nic().load64_now(nic_control(0)));
    EXPECT_EQ(hard.threading, nic::Threading::kSynchronous);
    EXPECT_EQ(hard.tx_interface, tx_interface);
    bench.enable(0);
    for (uint32_t i = 0; i < 100; ++i) {  // a call at a time: its response frees its line
      ASSERT_TRUE(bench.send(0, line_of(0, i)));
      ASSERT_TRUE(bench.run_until([&] { return bench.received() == i + 1; }, 300));
      bench.sender(0).taken(i + 1);
    }
    expect_own_lines(&bench, 0, 100);
    EXPECT_EQ(COUNTER(bench, positions_written), 0u);
  }
}

// ---- bursts into RX rings

TEST(NicBursts, AFullBatchGoesAtOnce) {
  NicBench bench({.tx_interface = TxInterface::kMmio});
  set_batch(&bench, {.tx_lines = 4, .rx_lines = 8, .rx_timeout = 60'000});
  bench.enable(0);
  for (uint32_t i = 0; i < 24; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 24; }, 300));
  EXPECT_EQ(COUNTER(bench, bursts), 3u);
  EXPECT_EQ(COUNTER(bench, bursts_full), 3u);
  EXPECT_EQ(COUNTER(bench, bursts_timeout), 0u);
}

TEST(NicBursts, APartialBatchGoesAfterItsTimeOut) {
  NicBench bench({.tx_interface = TxInterface::kMmio, .writes = {.latency = 1}});
  set_batch(&bench, {.tx_lines = 4, .rx_lines = 8, .rx_timeout = 700});
  bench.enable(0);
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  steps(&bench, 650);
  EXPECT_EQ(bench.received(), 0u);
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 3; }, 100));
  EXPECT_EQ(COUNTER(bench, bursts), 1u);
  EXPECT_EQ(COUNTER(bench, bursts_timeout), 1u);
  set_batch(&bench, {.tx_lines = 4, .rx_lines = 8, .rx_timeout = 0});
  ASSERT_TRUE(bench.send(0, line_of(0, 3)));
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 4; }, 40));
  expect_own_lines(&bench, 0, 4);
}

}  // namespace
}  // namespace drover::rtl
