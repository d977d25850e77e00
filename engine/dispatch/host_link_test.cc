// A HostLink's lanes: which of them cost a turn anything.
#include "engine/dispatch/host_link.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

class HostLinkTest : public testing::Test {
 protected:
  explicit HostLinkTest(uint32_t workers = 150) : link_(make_attachment(workers, {}, {}, 4096), 0, metrics_) {
    const HostAttachment& host = link_.host();
    RegionError error;  // of the host's own mapping
    region_ = Region::attach(UniqueFd(::dup(host.region->rx_fd())), UniqueFd(::dup(host.region->tx_fd())), &error);
    EXPECT_TRUE(region_) << error.message;
    for (uint32_t worker = 0; region_ && worker < workers; ++worker) {
      channels_.push_back(HostChannel::open(*region_, *host.layout, host.layout->channel(0, worker)));
    }
  }
  void give(uint32_t worker) { link_.push_call(worker, CallSlot{}); }
  void end(uint32_t worker) {
    link_.call_completed(worker);
    link_.call_finished(worker);
  }
  // The lanes that one turn looks at.
  std::multiset<uint32_t> turn() {
    std::multiset<uint32_t> looked_at;
    for (uint32_t n = link_.lanes_this_turn(); n != 0; --n) {
      uint32_t worker = link_.next_active();
      if (worker != HostLink::kNoLane) looked_at.insert(worker);
    }
    return looked_at;
  }
  void send(uint32_t worker) { ASSERT_EQ(channels_[worker].responses.try_push(Slot{}), PushResult::kOk); }
  bool announced() {
    const RegionLayout& layout = *link_.host().layout;
    auto* shared = reinterpret_cast<EngineThreadShared*>(link_.region().base() + layout.engine_thread_shared(0));
    return shared->waiting.load() != 0;
  }

  ThreadMetrics metrics_{0};
  HostLink link_;
  std::optional<Region> region_;
  std::vector<HostChannel> channels_;
};

TEST_F(HostLinkTest, OnlyLanesWithCallsAreLookedAt) {
  EXPECT_FALSE(link_.active());
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{}));
  give(7), give(7), give(99);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{7, 99}));
  end(7);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{7, 99}));
  end(7);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{99}));
  give(7);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{7, 99}));
  end(7), end(99);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{}));
  EXPECT_FALSE(link_.active());
}

TEST_F(HostLinkTest, ALookForSlotsEndsAtItsBoundAndTakesNothing) {
  for (uint32_t worker : {4, 5, 6}) give(worker);
  uint32_t left = 5;
  EXPECT_FALSE(link_.has_slot(&left));
  EXPECT_EQ(left, 2u);
  send(6);
  EXPECT_FALSE(link_.has_slot(&left)) << "of the two lanes that it may look at";
  EXPECT_EQ(left, 0u);
  for (int i = 0; i < 2; ++i) {
    left = 5;
    EXPECT_TRUE(link_.has_slot(&left));
    EXPECT_EQ(left, 2u);
  }
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{4, 5, 6}));
  EXPECT_TRUE(link_.lane(6).responses.ready());
}

TEST_F(HostLinkTest, ALaneStaysActiveUntilItsCallsAreFinished) {
  give(3);
  link_.call_completed(3);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{3}));
  link_.call_finished(3);
  EXPECT_EQ(turn(), (std::multiset<uint32_t>{}));
}

TEST_F(HostLinkTest, ATurnLooksAtSixtyFourLanesAtMostAndAllHaveTheirTurn) {
  for (uint32_t worker = 0; worker < 150; ++worker) give(worker);
  std::multiset<uint32_t> seen;
  for (int i = 0; i < 3; ++i) {
    std::multiset<uint32_t> now = turn();
    EXPECT_EQ(now.size(), HostLink::kLanesPerTurn);
    seen.merge(now);
  }
  for (uint32_t worker = 0; worker < 150; ++worker) EXPECT_GE(seen.count(worker), 1u) << worker;
}

TEST_F(HostLinkTest, BellsAreRungSixtyFourATurnAndTheThreadDoesNotSleepBeforeTheLast) {
  for (uint32_t worker = 0; worker < 150; ++worker) give(worker);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(link_.next_flush_ns(), 0);
    EXPECT_TRUE(link_.flush(1000));
  }
  EXPECT_EQ(link_.next_flush_ns(), INT64_MAX);
  EXPECT_FALSE(link_.flush(1000));
}

TEST_F(HostLinkTest, ReleasesGoOutWhenTheyAreOldWhicheverLanesTheyAreOf) {
  for (uint32_t worker = 0; worker < 150; ++worker) link_.release(worker, worker, 0, 1000);
  EXPECT_EQ(link_.next_flush_ns(), 1000 + HostLink::kReleaseDelayNs);
  EXPECT_FALSE(link_.flush(2000));
  int64_t late = 1000 + HostLink::kReleaseDelayNs;
  for (int i = 0; i < 4; ++i) link_.flush(late);
  EXPECT_EQ(link_.next_flush_ns(), INT64_MAX);
  for (uint32_t worker = 0; worker < 150; ++worker) {
    Slot slot;
    ASSERT_TRUE(channels_[worker].requests.try_pop(slot)) << worker;
    EXPECT_EQ(slot.type, static_cast<uint8_t>(RequestSlotType::kRelease));
    EXPECT_EQ(slot_as<ReleaseSlot>(slot).tx_call[0], worker);
  }
}

TEST_F(HostLinkTest, ABacklogGoesOutWhenItsRingHasRoomAgain) {
  for (int i = 0; i < 64; ++i) give(5);
  link_.cancel(5, 1, 1, CancelReason::kClient);
  link_.flush(1000);
  Slot slot;
  int cancels = 0;
  for (int i = 0; i < 200; ++i) {
    if (channels_[5].requests.try_pop(slot)) cancels += slot.type == static_cast<uint8_t>(RequestSlotType::kCancel);
    link_.flush(1000);
  }
  EXPECT_EQ(cancels, 1);
  EXPECT_TRUE(link_.has_room(5));
}

TEST_F(HostLinkTest, ASlotOfAnIdleWorkerIsFoundInTime) {
  send(120);
  EXPECT_EQ(link_.look_before_sleep(), HostLink::Look::kQuiet);
  for (int i = 0; i < 9 && link_.failure() == nullptr; ++i) link_.look_at_idle_lanes(16);
  EXPECT_STREQ(link_.failure(), "it sent a slot from a worker that has no call and no connection");
}

TEST_F(HostLinkTest, BeforeSleepAllActiveLanesAreLookedAt) {
  for (uint32_t worker = 0; worker < 150; ++worker) give(worker);
  using Look = HostLink::Look;
  link_.announce_sleep();
  for (Look look : {Look::kMore, Look::kMore, Look::kQuiet, Look::kQuiet}) EXPECT_EQ(link_.look_before_sleep(), look);
  send(149);
  link_.awake();
  link_.announce_sleep();
  for (Look look : {Look::kMore, Look::kMore, Look::kReady, Look::kReady}) EXPECT_EQ(link_.look_before_sleep(), look);
}

TEST_F(HostLinkTest, BeforeSleepSixtyFourActiveLanesAreLookedAtAtOnce) {
  for (uint32_t worker = 0; worker < 64; ++worker) give(2 * worker);
  link_.announce_sleep();
  EXPECT_EQ(link_.look_before_sleep(), HostLink::Look::kQuiet);
  send(126);
  EXPECT_EQ(link_.look_before_sleep(), HostLink::Look::kReady);
}

TEST_F(HostLinkTest, AwakeEndsWhatWasAnnounced) {
  link_.awake();
  EXPECT_FALSE(announced());
  link_.announce_sleep();
  EXPECT_TRUE(announced());
  link_.awake();
  EXPECT_FALSE(announced());
}

}  // namespace
}  // namespace drover::engine
