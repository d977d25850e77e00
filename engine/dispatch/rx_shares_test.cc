// Large requests that a host is not done with, and the calls behind them: of the same client, and of others.
#include "engine/dispatch/rx_shares.h"

#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr size_t kWhole = 1 << 20;

TEST(RxShares, AreOfAConnectionAndOfItsAddress) {
  constexpr size_t kLarge = 1 << 20, kEighth = kWhole / 8;
  ThreadMetrics metrics(0);
  Ledger ledger({}, metrics);
  const AccountRef one = ledger.open_connection("a"), two = ledger.open_connection("a"),
                   other = ledger.open_connection("b");
  RxShares shares;
  EXPECT_TRUE(shares.empty());
  shares.add(*one.get(), 4 * kEighth - 1);
  EXPECT_EQ(shares.at_share(*one.get(), kWhole, kLarge), nullptr);
  shares.add(*one.get(), 1);
  EXPECT_EQ(shares.at_share(*one.get(), kWhole, kLarge), one.get());
  EXPECT_EQ(shares.at_share(*one.get(), kWhole, 100), nullptr) << "a small one may go further";
  EXPECT_EQ(shares.at_share(*two.get(), kWhole, kLarge), nullptr);
  shares.add(*two.get(), kEighth);
  EXPECT_EQ(shares.at_share(*two.get(), kWhole, kLarge), two->parent());
  EXPECT_EQ(shares.at_share(*two.get(), kWhole, 100), nullptr);
  shares.add(*two.get(), kEighth);
  EXPECT_EQ(shares.at_share(*two.get(), kWhole, 100), two->parent());
  EXPECT_EQ(shares.at_share(*other.get(), kWhole, kLarge), nullptr);
  shares.remove(*one.get(), 4 * kEighth);
  EXPECT_EQ(shares.at_share(*two.get(), kWhole, kLarge), nullptr);
  shares.remove(*two.get(), 2 * kEighth);
  EXPECT_TRUE(shares.empty());
}

class LargeRequests : public testing::Test {
 protected:
  static constexpr size_t kRx = 4 << 20;

  Call& large(size_t size) { return engine_.call(std::string(size, 'l')); }
  // From then on, calls are of another client.
  void another_client() { engine_.client = engine_.ledger.open_connection("another"); }
  size_t at_host(FakeHost& host) {
    for (int turn = 0; turn < 50; ++turn) engine_.pump();  // a slow machine starts fewer of them in one
    host.take();
    return host.calls.size();
  }

  TestThread engine_;
  FakeHost host_{engine_, {.rx_bytes = kRx}};
};

TEST_F(LargeRequests, OfOneConnectionLeaveHalfOfRxToOthers) {
  std::vector<Call*> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(&large(300'000));
  EXPECT_EQ(at_host(host_), 4u) << "the fourth is the last that begins below the half";
  Call& small = engine_.call("of the same connection");  // keeps the order
  EXPECT_EQ(at_host(host_), 4u);

  another_client();
  engine_.call("small");
  EXPECT_EQ(at_host(host_), 5u);
  large(300'000);
  EXPECT_EQ(at_host(host_), 6u);

  for (int i = 0; i < 4; ++i) host_.answer(host_.calls[static_cast<size_t>(i)], echo_wire("done"));
  EXPECT_EQ(at_host(host_), 11u) << "the next four, and the small one, which may go further";
  for (size_t i = 4; i < host_.calls.size(); ++i) host_.answer(host_.calls[i], echo_wire("done"));
  engine_.pump();
  EXPECT_EQ(engine_.transport.answer(small).code, StatusCode::kOk);
  for (Call* call : calls) EXPECT_EQ(engine_.transport.answer(*call).code, StatusCode::kOk);
}

// An eighth of rx holds 128 of them; from then on they count.
TEST(SmallRequests, OfOneClientLeaveRoomToOthers) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 4 << 20, .ring_slots = 4096});
  for (int i = 0; i < 2000; ++i) engine.call("small");
  host.take();
  const size_t chunks = (4 << 20) / kChunkSize, taken = host.calls.size();
  EXPECT_GE(taken, chunks / 2);
  EXPECT_LE(taken, chunks * 3 / 4 + 1);
  engine.client = engine.ledger.open_connection("another");
  for (int i = 0; i < 100; ++i) engine.call("another's");
  for (int turn = 0; turn < 50; ++turn) engine.pump();
  host.take();
  EXPECT_EQ(host.calls.size(), taken + 100);
}

TEST_F(LargeRequests, MayTakeMoreThanTheirShareAlone) {
  Call& call = large(kRx * 6 / 10);
  ASSERT_EQ(at_host(host_), 1u);
  host_.answer(host_.calls[0], echo_wire("done"));
  engine_.pump();
  EXPECT_EQ(engine_.transport.answer(call).code, StatusCode::kOk);
}

TEST_F(LargeRequests, OfASlowHostDoNotHoldUpCallsToAnother) {
  FakeHost other(engine_, {.paths = {"/test.Echo/Other"}});
  for (int i = 0; i < 8; ++i) large(300'000);
  EXPECT_EQ(at_host(host_), 4u);
  engine_.call("x", 0, "/test.Echo/Other");
  EXPECT_EQ(at_host(other), 1u);
}

TEST_F(LargeRequests, GoToAnotherHostOfTheMethodWhereTheirClientHoldsLess) {
  FakeHost other(engine_, {.rx_bytes = kRx});
  for (int i = 0; i < 8; ++i) large(300'000);
  EXPECT_EQ(at_host(host_), 4u);
  EXPECT_EQ(at_host(other), 4u);
  for (const auto& call : host_.calls) host_.answer(call, echo_wire("done"));
  engine_.pump();
  host_.calls.clear();
  for (int i = 0; i < 4; ++i) large(300'000);
  EXPECT_EQ(at_host(host_), 4u) << "whichever is next in turn";
}

TEST_F(LargeRequests, OfOneConnectionDoNotHoldUpAnotherOfTheSameAddress) {
  for (int i = 0; i < 8; ++i) large(200'000);
  const size_t first = at_host(host_);
  engine_.client = engine_.ledger.open_connection("client");
  engine_.call("small");
  EXPECT_EQ(at_host(host_), first + 1);
}

// Whose metadata lies in rx as long as the host runs them.
TEST(StreamsInRx, CountWithTheirMetadata) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 4 << 20, .ring_slots = 4096, .flags = kMethodRequestStreams});
  for (int i = 0; i < 2000; ++i) engine.dispatcher.start(engine.begin());
  host.take();
  const size_t taken = host.calls.size();
  EXPECT_LE(taken, (4 << 20) / kChunkSize * 3 / 4 + 1);
  engine.client = engine.ledger.open_connection("another");
  for (int i = 0; i < 100; ++i) engine.dispatcher.start(engine.begin());
  for (int turn = 0; turn < 50; ++turn) engine.pump();
  host.take();
  EXPECT_EQ(host.calls.size(), taken + 100);
}

TEST_F(LargeRequests, ThatWaitForMemoryAreOvertakenByAnotherClientsCalls) {
  another_client();
  large(kRx * 6 / 10);
  EXPECT_EQ(at_host(host_), 1u);
  engine_.client = engine_.ledger.open_connection("client");
  large(kRx * 6 / 10);  // no room beside it
  engine_.call("behind it");
  EXPECT_EQ(at_host(host_), 1u);
  engine_.client = engine_.ledger.open_connection("a third");
  engine_.call("small");
  EXPECT_EQ(at_host(host_), 2u);
  host_.answer(host_.calls[0], echo_wire("done"));
  EXPECT_EQ(at_host(host_), 3u) << "the large one";
  ASSERT_GE(host_.calls.size(), 3u);
  host_.answer(host_.calls[2], echo_wire("done"));
  EXPECT_EQ(at_host(host_), 4u);
}

// Whose messages the host reads slowly: they are counted as long as it has not consumed them.
TEST(LargeMessages, OfOneClientsStreamsLeaveHalfOfRxToOthers) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 4 << 20, .flags = kMethodRequestStreams | kMethodReplyStreams});
  std::vector<Call*> streams;
  auto stream = [&] {
    Call& call = engine.begin();
    engine.dispatcher.start(call);
    return streams.emplace_back(&call);
  };
  for (int i = 0; i < 4; ++i) stream();
  host.take();
  const std::string large = echo_wire(std::string(300'000, 'l'));
  for (int round = 0; round < 3; ++round) {
    for (Call* call : streams) engine.dispatcher.message(*call, large, More::kMay);
  }
  for (int turn = 0; turn < 50; ++turn) engine.pump();
  host.take();
  EXPECT_EQ(host.messages.size(), 4u);

  engine.client = engine.ledger.open_connection("another");
  engine.dispatcher.message(*stream(), large, More::kMay);
  for (int turn = 0; turn < 50; ++turn) engine.pump();
  host.take();
  EXPECT_EQ(host.messages.size(), 5u);

  host.consume(host.calls[0], 1);
  for (int turn = 0; turn < 50; ++turn) engine.pump();
  host.take();
  EXPECT_EQ(host.messages.size(), 6u);
  EXPECT_EQ(host.messages[5].wire, large);
}

TEST_F(LargeRequests, AreNotCountedOnceTheirHostOrTheirClientIsGone) {
  for (int i = 0; i < 8; ++i) large(300'000);
  EXPECT_EQ(at_host(host_), 4u);
  engine_.abandon_calls();
  for (int i = 0; i < 4; ++i) host_.answer(host_.calls[static_cast<size_t>(i)], echo_wire("done"));
  engine_.pump();
  engine_.call("after them");
  EXPECT_EQ(at_host(host_), 5u);
  large(300'000);
  host_.die();
  engine_.pump();
  FakeHost next(engine_);
  engine_.call("at the next");
  EXPECT_EQ(at_host(next), 1u);
}

}  // namespace
}  // namespace drover::engine
