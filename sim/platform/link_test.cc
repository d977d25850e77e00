// The link model beside the figures that a pencil gives: n transactions of s bytes over latency L and bandwidth B, with
// k in flight.
#include "sim/platform/link.h"

#include <gtest/gtest.h>

namespace drover::sim {
namespace {

constexpr Time kNs = kNanosecond;

// 1 byte a nanosecond, so that bytes are nanoseconds.
LinkConfig plain() {
  LinkConfig config;
  config.one_way = 500 * kNs;
  config.bandwidth = 1e9;
  return config;
}

Time last_write(Link& link, uint32_t n, uint64_t bytes) {
  Time end = 0;
  for (uint32_t i = 0; i < n; ++i) end = link.write(0, bytes, 0).arrived;
  return end;
}
Time last_read(Link& link, uint32_t n, uint64_t bytes) {
  Time end = 0;
  for (uint32_t i = 0; i < n; ++i) end = link.read(0, bytes, 0).done;
  return end;
}

TEST(Link, AWriteIsVisibleAfterItsBytesAndOneWay) {
  Link link(plain());
  Link::Write write = link.write(7 * kNs, 64, 0);
  EXPECT_EQ(write.begins, 7 * kNs);
  EXPECT_EQ(write.left, 71 * kNs);
  EXPECT_EQ(write.arrived, 571 * kNs);
}

TEST(Link, AReadTakesThereAndBack) {
  LinkConfig config = plain();
  config.access = 30 * kNs;
  Link link(config);
  Link::Read read = link.read(0, 64, 0);
  EXPECT_EQ(read.first, 1030 * kNs);
  EXPECT_EQ(read.done, 1094 * kNs);
}

TEST(Link, WritesFollowEachOtherAtTheBandwidth) {
  for (uint32_t n : {1u, 2u, 10u, 1000u}) {
    for (uint64_t bytes : {1u, 64u, 4096u}) {
      Link link(plain());
      EXPECT_EQ(last_write(link, n, bytes), n * bytes * kNs + 500 * kNs) << n << " of " << bytes;
      EXPECT_EQ(link.counters().writes, n);
      EXPECT_EQ(link.counters().written_bytes, n * bytes);
    }
  }
}

TEST(Link, ReadsOverlapTheirLatency) {
  for (uint32_t n : {1u, 2u, 10u, 1000u}) {
    Link link(plain());
    EXPECT_EQ(last_read(link, n, 64), 1000 * kNs + n * 64 * kNs) << n;
  }
}

TEST(Link, EachPacketCostsItsHeader) {
  LinkConfig config = plain();
  config.header = 26;
  config.payload_limit = 256;
  config.bandwidth = 1e9 * 256 / (256 + 26);  // headers and all, a byte a nanosecond
  Link link(config);
  EXPECT_EQ(link.write(0, 1024, 0).left, (1024 + 4 * 26) * kNs);
  Link other(config);
  EXPECT_EQ(last_write(other, 10, 8), 10 * (8 + 26) * kNs + 500 * kNs);
  Link third(config);
  // request, there and back, four packets
  EXPECT_EQ(third.read(0, 1024, 0).done, 26 * kNs + 1000 * kNs + (1024 + 4 * 26) * kNs);
}

TEST(Link, FullPacketsReachTheBandwidth) {
  LinkConfig config = plain();
  config.header = 26;
  config.payload_limit = 256;
  EXPECT_EQ(Link(config).wire_time(256 * 1000), 256'000 * kNs);
}

TEST(Link, TheTransactionRateHoldsSmallWritesBack) {
  LinkConfig config = plain();
  config.interval = 20 * kNs;
  Link link(config);
  EXPECT_EQ(last_write(link, 100, 8), 99 * 20 * kNs + 8 * kNs + 500 * kNs);
  EXPECT_GT(link.counters().write_waits.interval, 0u);
  EXPECT_EQ(link.counters().write_waits.in_flight, 0u);
  Link large(config);
  EXPECT_EQ(last_write(large, 100, 64), 100 * 64 * kNs + 500 * kNs);
}

TEST(Link, OneReadInFlightPaysEveryRoundTrip) {
  LinkConfig config = plain();
  config.reads_in_flight = 1;
  for (uint32_t n : {1u, 5u, 50u}) {
    Link link(config);
    EXPECT_EQ(last_read(link, n, 64), n * (1000 + 64) * kNs) << n;
  }
}

// Where k transactions do not fill the latency, groups of k take turns: a group's first begins when the one k before it
// has ended.
TEST(Link, KInFlightShareTheLatency) {
  for (uint32_t k : {1u, 2u, 4u, 8u}) {
    for (uint32_t groups : {1u, 3u, 20u}) {
      LinkConfig config = plain();
      config.reads_in_flight = k;
      config.writes_in_flight = k;
      Link reads(config), writes(config);
      Time t = 64 * kNs, there_and_back = 1000 * kNs, one_way = 500 * kNs;
      ASSERT_LT((k - 1) * t, there_and_back);
      EXPECT_EQ(last_read(reads, k * groups, 64), groups * (there_and_back + t) + (k - 1) * t) << k << "x" << groups;
      if ((k - 1) * t < one_way) {
        EXPECT_EQ(last_write(writes, k * groups, 64), groups * (one_way + t) + (k - 1) * t) << k << "x" << groups;
      }
      if (groups > 1) EXPECT_GT(reads.counters().read_waits.in_flight, 0u);
    }
  }
}

TEST(Link, EnoughInFlightAreBoundByTheBandwidthAlone) {
  LinkConfig config = plain();
  config.reads_in_flight = 17;  // 17 x 64 ns cover 1064 ns
  Link link(config);
  EXPECT_EQ(last_read(link, 1000, 64), 1000 * kNs + 1000 * 64 * kNs);
}

TEST(Link, ReadsAndWritesGoInDifferentDirections) {
  Link link(plain());
  link.write(0, 10000, 0);
  // Only the request waits for the bytes in front of it; without a header it takes no time itself.
  EXPECT_EQ(link.read(0, 64, 0).done, 10000 * kNs + 1000 * kNs + 64 * kNs);
  EXPECT_EQ(link.write(0, 100, 0).begins, 10000 * kNs);
}

TEST(Link, AnIdleLinkForgetsWhatWas) {
  LinkConfig config = plain();
  config.writes_in_flight = 2;
  config.interval = 20 * kNs;
  Link link(config);
  for (int i = 0; i < 5; ++i) link.write(0, 64, 0);
  LinkWaits before = link.counters().write_waits;
  EXPECT_EQ(link.write(1'000'000 * kNs, 64, 0).arrived, 1'000'000 * kNs + 564 * kNs);
  EXPECT_EQ(link.counters().write_waits.in_flight, before.in_flight);
}

TEST(Link, WhatTheProcessorPushesTakesOneWayAndTheBandwidthOfWhatIsReadNext) {
  Link link(plain());
  EXPECT_EQ(link.read(0, 1000, 0).done, 2000 * kNs);
  EXPECT_EQ(link.push(0, 64).arrived, 564 * kNs);
  EXPECT_EQ(link.push(0, 64).arrived, 628 * kNs);
  EXPECT_EQ(link.read(0, 64, 0).done, 2000 * kNs + 3 * 64 * kNs);
  EXPECT_EQ(link.counters().pushes, 2u);
  EXPECT_EQ(link.counters().pushed_bytes, 128u);
}

// ---- TLB
LinkConfig with_tlb(uint32_t entries) {
  LinkConfig config = plain();
  config.tlb = {.entries = entries, .page = 4096, .miss = 300 * kNs};
  return config;
}

TEST(Tlb, WithoutEntriesNothingIsTranslated) {
  Link link(with_tlb(0));
  EXPECT_EQ(link.read(0, 64, 1 << 20).done, 1064 * kNs);
  EXPECT_EQ(link.counters().tlb_misses, 0u);
}

TEST(Tlb, AMissIsPaidOnceForEachPage) {
  Link link(with_tlb(4));
  EXPECT_EQ(link.read(0, 64, 4096).done, 1364 * kNs);
  Time later = 10'000 * kNs;
  EXPECT_EQ(link.read(later, 64, 8191).done, later + 1364 * kNs);  // its bytes go on into the next page
  EXPECT_EQ(link.read(2 * later, 64, 8000).done, 2 * later + 1064 * kNs);
  EXPECT_EQ(link.counters().tlb_misses, 2u);
  EXPECT_EQ(link.counters().read_waits.tlb, 600 * kNs);
}

TEST(Tlb, MissesOfOnePageWaitTogether) {
  Link link(with_tlb(4));
  EXPECT_EQ(link.write(0, 100, 4096).arrived, 900 * kNs);
  EXPECT_EQ(link.write(0, 100, 4196).arrived, 900 * kNs);  // left 100 ns later, and waits for the same walk
  EXPECT_EQ(link.counters().tlb_misses, 1u);
  EXPECT_EQ(link.counters().write_waits.tlb, 500 * kNs);
}

TEST(Tlb, PostedWritesDoNotOvertakeOneThatWaits) {
  Link link(with_tlb(4));
  Time later = 10'000 * kNs;
  link.write(0, 100, 0);
  EXPECT_EQ(link.write(later, 100, 4096).arrived, later + 900 * kNs);
  EXPECT_EQ(link.write(later, 100, 0).arrived, later + 900 * kNs);  // its page is there
}

TEST(Tlb, ThePageThatWasUsedLongestAgoMakesRoom) {
  Tlb tlb({.entries = 2, .page = 4096, .miss = 300});
  auto hits = [&tlb](uint64_t page, Time at) { return tlb.translate(at, page * 4096, 1) == at; };
  EXPECT_FALSE(hits(1, 1000));
  EXPECT_FALSE(hits(2, 2000));
  EXPECT_TRUE(hits(1, 3000));
  EXPECT_FALSE(hits(3, 4000));  // 2 goes
  EXPECT_TRUE(hits(1, 5000));
  EXPECT_FALSE(hits(2, 6000));
  EXPECT_EQ(tlb.misses(), 4u);
}

}  // namespace
}  // namespace drover::sim
