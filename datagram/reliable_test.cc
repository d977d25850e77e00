#include "datagram/reliable.h"

#include <gtest/gtest.h>

#include "datagram/frame_testing.h"

namespace drover {
namespace {

using testing::make_line;
using testing::same_line;

constexpr size_t kRoom = 1000;

FrameFields send_one(ReliableConnection& from, uint32_t number = 0) {
  std::array lines{make_line(number)};
  return from.send(lines);
}
// Sends `count` lines one by one; their fields.
std::vector<FrameFields> send_some(ReliableConnection& from, size_t count) {
  std::vector<FrameFields> all;
  for (size_t i = 0; i < count; ++i) all.push_back(send_one(from, static_cast<uint32_t>(i)));
  return all;
}
void ticks(ReliableConnection& connection, size_t count) {
  for (size_t i = 0; i < count; ++i) connection.tick();
}

TEST(ReliableConnection, DeliversInOrderAndAcknowledges) {
  ReliableConnection a, b;
  for (const FrameFields& fields : send_some(a, 3)) {
    Received received = b.receive(fields, 1, kRoom);
    EXPECT_EQ(received.refusal, FrameRefusal::kOk);
    EXPECT_EQ(received.count, 1u);
  }
  EXPECT_EQ(a.in_flight(), 3u);
  FrameFields answer = send_one(b);
  EXPECT_EQ(answer.ack, 3u);
  EXPECT_FALSE(b.owes_ack());
  a.receive(answer, 1, kRoom);
  EXPECT_EQ(a.in_flight(), 0u);
}

TEST(ReliableConnection, KeepsToTheWindow) {
  ReliableConnection a({.window = 4});
  send_some(a, 4);
  EXPECT_EQ(a.may_send(), 0u);
  a.receive({.kind = FrameKind::kAck, .ack = 3, .window = 4}, 0, kRoom);
  EXPECT_EQ(a.may_send(), 3u);
  a.receive({.kind = FrameKind::kAck, .ack = 3, .window = 2}, 0, kRoom);
  EXPECT_EQ(a.may_send(), 1u);
}

TEST(ReliableConnection, SendsOneLineIntoAWindowOfZero) {
  ReliableConnection a;
  a.receive({.kind = FrameKind::kAck, .ack = 0, .window = 0}, 0, kRoom);
  EXPECT_EQ(a.may_send(), 1u);
  send_one(a);
  EXPECT_EQ(a.may_send(), 0u);
}

TEST(ReliableConnection, AcknowledgesHalfAWindowAtOnceAndLessAfterTwoTicks) {
  ReliableConnection a, b;
  std::vector<FrameFields> sent = send_some(a, 9);
  for (size_t i = 0; i < 7; ++i) b.receive(sent[i], 1, kRoom);
  EXPECT_FALSE(b.take_ack());
  b.receive(sent[7], 1, kRoom);
  auto ack = b.take_ack();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->kind, FrameKind::kAck);
  EXPECT_EQ(ack->ack, 8u);
  b.receive(sent[8], 1, kRoom);
  b.tick();
  EXPECT_FALSE(b.take_ack());
  b.tick();
  EXPECT_TRUE(b.take_ack());
  ticks(b, 10);
  EXPECT_FALSE(b.take_ack());
}

TEST(ReliableConnection, ALineThatComesTwiceIsAcknowledgedAgain) {
  ReliableConnection a, b;
  FrameFields fields = send_one(a);
  b.receive(fields, 1, kRoom);
  EXPECT_FALSE(b.take_ack());
  EXPECT_EQ(b.receive(fields, 1, kRoom).refusal, FrameRefusal::kDuplicate);
  EXPECT_TRUE(b.take_ack());
}

TEST(ReliableConnection, AGapIsAnsweredOnceForEachLineThatIsMissing) {
  ReliableConnection a, b;
  std::vector<FrameFields> sent = send_some(a, 4);
  EXPECT_EQ(b.receive(sent[1], 1, kRoom).refusal, FrameRefusal::kMissingBefore);
  auto gap = b.take_ack();
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->kind, FrameKind::kGap);
  a.receive(*gap, 0, kRoom);
  for (uint32_t i = 0; i < 4; ++i) {
    auto again = a.take_resend();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->fields.sequence, i);
    EXPECT_TRUE(same_line(again->line, make_line(i)));
  }
  EXPECT_FALSE(a.take_resend());
  a.receive(*gap, 0, kRoom);  // of another line behind the same one
  EXPECT_FALSE(a.take_resend());
}

TEST(ReliableConnection, SendsAgainWithTimesThatDoubleThenDies) {
  ReliableConnection a({.resend_ticks = 2, .max_doublings = 2, .max_resends = 3});
  send_some(a, 2);
  std::vector<int> times;
  for (int tick = 1; !a.dead(); ++tick) {
    ASSERT_LT(tick, 100);
    a.tick();
    if (a.take_resend()) {
      times.push_back(tick);
      EXPECT_TRUE(a.take_resend());
      EXPECT_FALSE(a.take_resend());
    }
  }
  // After more than two ticks, four and eight.
  EXPECT_EQ(times, (std::vector<int>{3, 8, 17}));
  EXPECT_EQ(a.may_send(), 0u);
}

TEST(ReliableConnection, APeerThatAnswersIsNotDead) {
  ReliableConnection a({.resend_ticks = 1, .max_resends = 2});
  send_one(a);
  for (int i = 0; i < 100; ++i) {
    a.tick();
    a.receive({.kind = FrameKind::kAck, .ack = 0, .window = 0}, 0, kRoom);
  }
  EXPECT_FALSE(a.dead());
}

TEST(ReliableConnection, NothingIsTakenWithoutRoomAndTheWindowSaysSo) {
  ReliableConnection a, b;
  FrameFields fields = send_one(a);
  b.set_room(0);
  EXPECT_EQ(b.receive(fields, 1, 0).refusal, FrameRefusal::kNoRoom);
  auto ack = b.take_ack();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->ack, 0u);
  EXPECT_EQ(ack->window, 0u);
  EXPECT_EQ(b.receive(fields, 1, 1).refusal, FrameRefusal::kOk);
}

TEST(ReliableConnection, OfAFrameOfSeveralLinesOnlyNewOnesAreTaken) {
  ReliableConnection b;
  FrameFields fields{.kind = FrameKind::kData, .sequence = 0, .window = 16};
  EXPECT_EQ(b.receive(fields, 4, 3).count, 3u);
  Received rest = b.receive(fields, 4, kRoom);
  EXPECT_EQ(rest.first, 3u);
  EXPECT_EQ(rest.count, 1u);
  EXPECT_EQ(b.receive(fields, 4, kRoom).refusal, FrameRefusal::kDuplicate);
}

TEST(ReliableConnection, SequenceNumbersWrap) {
  ReliableState before{0xfffffff0, 0xfffffff8};
  ReliableConnection a({}, before), b({}, {before.expected, before.next});
  for (uint32_t i = 0; i < 40; ++i) {
    ASSERT_EQ(b.receive(send_one(a, i), 1, kRoom).count, 1u);
    ASSERT_EQ(a.receive(send_one(b, i), 1, kRoom).count, 1u);
  }
  EXPECT_EQ(a.state(), (ReliableState{before.next + 40, before.expected + 40}));
}

TEST(ReliableConnection, NumbersThatCannotBeChangeNothing) {
  ReliableConnection a, b;
  send_some(a, 2);
  FrameFields frame{.kind = FrameKind::kData, .sequence = 0, .ack = 3, .window = 16};
  EXPECT_EQ(a.receive(frame, 1, kRoom).refusal, FrameRefusal::kOutOfWindow);  // acknowledges what was not sent
  frame.ack = 0x80000000;
  EXPECT_EQ(a.receive(frame, 1, kRoom).refusal, FrameRefusal::kOutOfWindow);
  frame.ack = 1;
  frame.sequence = 16;
  EXPECT_EQ(a.receive(frame, 1, kRoom).refusal, FrameRefusal::kOutOfWindow);
  EXPECT_EQ(a.in_flight(), 2u);
  EXPECT_EQ(a.state(), (ReliableState{2, 0}));
  EXPECT_FALSE(a.take_ack());
}

TEST(CheckPeer, WantsTheOtherEndAndTheKey) {
  CheckedFrame frame{{.key = 5}, testing::kClientEnd, {}};
  EXPECT_EQ(check_peer(frame, testing::kClientEnd, 5), FrameRefusal::kOk);
  EXPECT_EQ(check_peer(frame, testing::kClientEnd, 6), FrameRefusal::kKey);
  EXPECT_EQ(check_peer(frame, testing::kServerEnd, 5), FrameRefusal::kSource);
  NetworkEnd other_mac = testing::kClientEnd;  // it changes at routers
  other_mac.mac[0] = 9;
  EXPECT_EQ(check_peer(frame, other_mac, 5), FrameRefusal::kOk);
}

}  // namespace
}  // namespace drover
