// The coherent link's figures, and what a NIC sees of the processor's stores and when.
#include "sim/platform/coherent_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace drover::sim {
namespace {

using ::testing::ElementsAre;

constexpr Time kOneWay = 200 * kNanosecond, kAccess = 10 * kNanosecond, kHit = 60 * kNanosecond;
constexpr Time kRead = 2 * kOneWay + kAccess + 1;  // 1 ps on the wire

class CoherentLinkTest : public ::testing::Test {
 protected:
  explicit CoherentLinkTest(Time interval = 0)
      : endpoint_(interval),
        link_(CoherentConfig{.one_way = kOneWay,
                             .access = kAccess,
                             .hit = kHit,
                             .bandwidth = 64e12,
                             .reads_in_flight = 4,
                             .cache_lines = 2},
              memory_, &endpoint_, [this](uint64_t address) { snoops_.push_back(address); }) {}

  void write(uint64_t address, char value) { std::memset(memory_.data() + address, value, 64); }
  // When the read is done, looking each nanosecond from `now`; and its line's first byte.
  std::pair<Time, char> finish(uint64_t ticket, Time now) {
    for (;; now += kNanosecond) {
      link_.advance(now);
      if (link_.done(ticket)) return {now, link_.take(ticket)[0]};
    }
  }

  std::vector<char> memory_ = std::vector<char>(4096);
  std::vector<uint64_t> snoops_;
  Endpoint endpoint_;
  CoherentLink link_;
};
class EndpointTest : public CoherentLinkTest {
 protected:
  EndpointTest() : CoherentLinkTest(12 * kNanosecond) {}
};

TEST_F(CoherentLinkTest, AReadTakesBothWaysAndTheAccess) {
  write(64, 'a');
  auto [done, value] = finish(link_.read(0, 64, true), 0);
  EXPECT_NEAR(static_cast<double>(done), static_cast<double>(kRead), kNanosecond);
  EXPECT_EQ(value, 'a');
}

TEST_F(CoherentLinkTest, AReadThatHitsCostsNoTransaction) {
  finish(link_.read(0, 64, true), 0);
  Time now = kNanosecond * 1000;
  auto [done, value] = finish(link_.read(now, 64, true), now);
  EXPECT_EQ(done, now + kHit);
  EXPECT_EQ(endpoint_.passed(), 1u);
  EXPECT_EQ(link_.counters().hits, 1u);
  finish(link_.read(now * 2, 64, false), now * 2);  // a direct read goes to the processor all the same
  EXPECT_EQ(endpoint_.passed(), 2u);
}

TEST_F(CoherentLinkTest, AStoreToASharedLineInvalidatesItOneWayLater) {
  write(64, 'a');
  finish(link_.read(0, 64, true), 0);
  Time now = 1000 * kNanosecond;
  EXPECT_TRUE(link_.store(now, 64));
  write(64, 'b');
  EXPECT_FALSE(link_.store(now, 64)) << "the line is the processor's own now";
  link_.advance(now + kOneWay - 1);
  EXPECT_THAT(snoops_, ElementsAre());
  auto [done, value] = finish(link_.read(now + kOneWay - kHit - 1, 64, true), now + kOneWay - kHit - 1);
  EXPECT_EQ(value, 'a') << "the NIC's cache had the line yet";
  link_.advance(now + kOneWay);
  EXPECT_THAT(snoops_, ElementsAre(64u));
}

TEST_F(CoherentLinkTest, AReadBehindAnInvalidationSeesTheStore) {
  write(64, 'a');
  finish(link_.read(0, 64, true), 0);
  Time now = 1000 * kNanosecond;
  link_.store(now, 64);
  write(64, 'b');
  auto [done, value] = finish(link_.read(now + kOneWay, 64, true), now + kOneWay);
  EXPECT_EQ(value, 'b');
}

TEST_F(CoherentLinkTest, AStoreIsNotSeenBeforeItIsOwned) {
  write(64, 'a');
  finish(link_.read(0, 64, true), 0);
  Time now = 1000 * kNanosecond;
  link_.store(now, 64);
  write(64, 'b');
  // A direct read that reaches the processor before the NIC has answered the invalidation.
  auto [done, value] = finish(link_.read(now, 64, false), now);
  EXPECT_EQ(value, 'a');
}

TEST_F(CoherentLinkTest, AStoreToALineThatIsNotSharedIsSeenAtOnce) {
  Time now = 1000 * kNanosecond;
  EXPECT_FALSE(link_.store(now, 64));
  write(64, 'b');
  auto [done, value] = finish(link_.read(now, 64, false), now);
  EXPECT_EQ(value, 'b');
  EXPECT_FALSE(link_.store(done, 64)) << "a direct read shares nothing";
}

TEST_F(CoherentLinkTest, TheOldestLineLeavesAFullCache) {
  for (uint64_t address : {64u, 128u, 192u}) finish(link_.read(address * kNanosecond * 1000, address, true), 0);
  EXPECT_THAT(snoops_, ElementsAre(64u));
  EXPECT_FALSE(link_.store(1'000'000 * kNanosecond, 64));
  EXPECT_TRUE(link_.store(1'000'000 * kNanosecond, 192));
}

TEST_F(CoherentLinkTest, ReadsBeyondThoseInFlightWait) {
  std::vector<uint64_t> tickets;
  for (uint64_t i = 0; i < 5; ++i) tickets.push_back(link_.read(0, i * 64, false));
  EXPECT_LT(finish(tickets[3], 0).first, 2 * kRead - 10);
  EXPECT_NEAR(static_cast<double>(finish(tickets[4], 0).first), 2.0 * kRead, 2 * kNanosecond);
}

TEST_F(EndpointTest, BeginsTransactionsAtItsRate) {
  std::vector<uint64_t> tickets;
  for (uint64_t i = 0; i < 3; ++i) tickets.push_back(link_.read(0, i * 64, false));
  Time first = finish(tickets[0], 0).first, third = finish(tickets[2], 0).first;
  EXPECT_NEAR(static_cast<double>(third - first), 24.0 * kNanosecond, 2 * kNanosecond);
  EXPECT_EQ(link_.counters().interval_waits, 36u * kNanosecond);
}

}  // namespace
}  // namespace drover::sim
