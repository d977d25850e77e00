// SlotSender and SlotReceiver by themselves: what is lost, what is sent again and when, and what cannot be.
#include <gtest/gtest.h>

#include "datagram/slot_receiver.h"
#include "datagram/slot_sender.h"

namespace drover {
namespace {

constexpr int64_t kUs = 1'000, kMs = 1'000'000;

struct Sent {
  uint64_t first;
  size_t count;
  bool operator==(const Sent&) const = default;
};

class SlotSenderTest : public ::testing::Test {
 protected:
  void push(size_t count) {
    for (size_t i = 0; i < count; ++i) ASSERT_TRUE(sender.push(Slot{}, 0));
  }
  // All that may go out now.
  std::vector<Sent> send() {
    std::vector<Sent> all;
    uint64_t first;
    std::span<const Slot> parts[2];
    while (sender.take(now, &first, parts)) all.push_back({first, parts[0].size() + parts[1].size()});
    return all;
  }
  // The slots, a datagram each.
  void send_singly(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      push(1);
      ASSERT_EQ(send().size(), 1u);
      now += kUs;
    }
  }
  bool acknowledge(uint64_t ack, std::vector<uint16_t> ranges = {}) {
    LinkRanges record{};
    record.count = static_cast<uint16_t>(ranges.size() / 2);
    std::copy(ranges.begin(), ranges.end(), record.ranges);
    return sender.acknowledged(ack, 4096, 0, ranges.empty() ? nullptr : &record, now);
  }

  LinkMemory memory;
  SlotSender sender{{}, memory};
  int64_t now = kMs;
};

TEST_F(SlotSenderTest, FillsDatagramsAndKeepsToTheWindow) {
  push(1000);
  const std::vector<Sent> sent = send();
  EXPECT_EQ(sent.front(), (Sent{0, 22}));
  EXPECT_EQ(sent.size() * 22, 220u);  // ten datagrams at first
  EXPECT_FALSE(sender.may_send());
  EXPECT_TRUE(acknowledge(220));
  EXPECT_EQ(send().size(), 20u);
}

TEST_F(SlotSenderTest, ADatagramThatThreeLaterOnesOvertookGoesOutAgain) {
  send_singly(6);
  now += 100 * kUs;  // of which a quarter is more than lies between the datagrams
  EXPECT_TRUE(acknowledge(1, {1, 3}));
  EXPECT_TRUE(send().empty());
  EXPECT_TRUE(acknowledge(1, {1, 4}));
  EXPECT_EQ(send(), (std::vector<Sent>{{1, 1}}));
  EXPECT_TRUE(send().empty());
  EXPECT_EQ(sender.resent(), 1u);
}

TEST_F(SlotSenderTest, TheFirstTimeOutAsksWithOneDatagramAndTheSecondSendsAll) {
  send_singly(4);
  now = sender.timer_ns();
  sender.timer(now);
  EXPECT_EQ(send(), (std::vector<Sent>{{0, 1}}));
  now = sender.timer_ns();
  sender.timer(now);
  EXPECT_EQ(send(), (std::vector<Sent>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
}

TEST_F(SlotSenderTest, AnAcknowledgementThatCannotBeChangesNothing) {
  push(44);
  send();
  EXPECT_FALSE(acknowledge(45));
  EXPECT_FALSE(acknowledge(5));            // in the middle of a datagram
  EXPECT_FALSE(acknowledge(0, {22, 60}));  // not sent
  EXPECT_EQ(sender.acked(), 0u);
  EXPECT_TRUE(acknowledge(22));
  EXPECT_TRUE(acknowledge(0));  // late
  EXPECT_EQ(sender.acked(), 22u);
  EXPECT_TRUE(acknowledge(44));
  EXPECT_EQ(sender.timer_ns(), INT64_MAX);
}

TEST_F(SlotSenderTest, SendsNoMoreThanTheOtherEndHasRoomFor) {
  sender.set_peer(10, 25);
  push(100);
  EXPECT_EQ(send(), (std::vector<Sent>{{0, 10}, {10, 10}, {20, 5}}));
}

TEST_F(SlotSenderTest, RequestsLeaveRoomForResponses) {
  SlotSender small({.max_lines = 22, .most_slots = 1024, .congestion = {}}, memory);
  size_t requests = 0, all;
  while (small.push(Slot{}, 0, 4)) ++requests;
  for (all = requests; small.push(Slot{}, 0);) ++all;
  EXPECT_EQ(requests, 512u);
  EXPECT_EQ(all, 1024u);
}

class SlotReceiverTest : public ::testing::Test {
 protected:
  LinkRefusal take(uint64_t first, size_t count) {
    std::vector<Slot> slots(count);
    for (size_t i = 0; i < count; ++i) slots[i].sequence = static_cast<uint32_t>(first + i);
    return receiver.take(first, count, reinterpret_cast<const std::byte*>(slots.data()), [this](const std::byte* slot) {
      uint32_t number;
      std::memcpy(&number, slot, sizeof number);
      EXPECT_EQ(number, next++);
      return true;
    });
  }
  LinkMemory memory;
  SlotReceiver receiver{256, memory};
  uint32_t next = 0;
};

TEST_F(SlotReceiverTest, DeliversEachSlotOnceAndInOrder) {
  EXPECT_EQ(take(0, 5), LinkRefusal::kOk);
  EXPECT_EQ(take(0, 5), LinkRefusal::kDuplicate);
  EXPECT_EQ(take(10, 5), LinkRefusal::kOk);
  EXPECT_EQ(take(10, 5), LinkRefusal::kDuplicate);
  EXPECT_EQ(next, 5u);
  EXPECT_EQ(take(3, 7), LinkRefusal::kOk);  // also such as came before
  EXPECT_EQ(next, 15u);
  EXPECT_FALSE(receiver.misses());
}

// A slot that was kept and then came in order must not be taken for a later one with its place.
TEST_F(SlotReceiverTest, AKeptSlotThatComesAgainInOrderIsForgotten) {
  EXPECT_EQ(take(5, 5), LinkRefusal::kOk);
  EXPECT_EQ(take(0, 10), LinkRefusal::kOk);
  EXPECT_FALSE(receiver.misses());
  for (uint64_t first = 10; first < 2000; first += 10) ASSERT_EQ(take(first, 10), LinkRefusal::kOk);
  EXPECT_EQ(next, 2000u);
}

TEST_F(SlotReceiverTest, SaysWhatItHas) {
  LinkRanges ranges;
  EXPECT_FALSE(receiver.ranges(&ranges));
  take(2, 3);
  take(130, 1);
  ASSERT_TRUE(receiver.ranges(&ranges));
  EXPECT_EQ(ranges.count, 2);
  EXPECT_EQ(std::vector<uint16_t>(ranges.ranges, ranges.ranges + 4), (std::vector<uint16_t>{2, 5, 130, 131}));
  for (uint64_t i = 7; i < 100; i += 2) take(i, 1);
  ASSERT_TRUE(receiver.ranges(&ranges));
  EXPECT_EQ(ranges.count, kLinkMaxRanges);
}

TEST_F(SlotReceiverTest, TakesNothingBeyondItsWindowAndWithoutMemory) {
  EXPECT_EQ(take(250, 7), LinkRefusal::kOutOfWindow);
  memory.limit = 0;
  EXPECT_EQ(take(1, 1), LinkRefusal::kNoRoom);
  EXPECT_EQ(take(0, 1), LinkRefusal::kOk);
}

}  // namespace
}  // namespace drover
