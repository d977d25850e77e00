// The end of a host: what its calls hear and when, and that nothing of them stays.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

// What a turn may do for a host's death: the thread has other hosts.
TEST(Hosts, TheCallsOfAHostThatDiedEndAFewATurnWhileOthersAreServed) {
  constexpr size_t kCalls = 1000, kMostATurn = 256;
  TestThread engine;
  FakeHost good(engine, {.paths = {"/test.Good/Say"}}), many(engine, {.rx_bytes = 8 << 20, .ring_slots = 1024});
  std::vector<Call*> calls;
  for (size_t i = 0; i < kCalls; ++i) calls.push_back(&engine.call("x"));
  engine.pump();
  auto ended = [&] {
    return static_cast<size_t>(
        std::count_if(calls.begin(), calls.end(), [&](Call* call) { return engine.transport.answered(*call); }));
  };
  many.die();
  size_t before = ended();
  EXPECT_GE(before, 1u) << "they end at once";
  EXPECT_LE(before, kMostATurn);
  for (int turn = 0; before < kCalls && turn < 100; ++turn) {
    Call& fine = engine.call("fine", 0, "/test.Good/Say");
    good.serve();
    EXPECT_TRUE(engine.dispatcher.prepare_to_sleep()) << "there is more to do";
    engine.dispatcher.woke_up();
    EXPECT_TRUE(engine.pump());
    EXPECT_TRUE(engine.transport.answered(fine));
    size_t now = ended();
    EXPECT_LE(now - before, kMostATurn);
    before = now;
  }
  ASSERT_EQ(ended(), kCalls);
  for (Call* call : calls) EXPECT_EQ(engine.transport.answer(*call).code, StatusCode::kUnavailable);
  EXPECT_EQ(engine.events.let_go, 1);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST(Hosts, ACallThatIsLeftWhileItsDeadHostsCallsEndGivesEverythingBack) {
  TestThread engine;
  FakeHost many(engine, {.rx_bytes = 8 << 20, .ring_slots = 1024});
  for (int i = 0; i < 1000; ++i) engine.call("x");
  engine.pump();
  many.die();
  engine.abandon_calls();
  EXPECT_TRUE(engine.pump_until([&] { return engine.events.let_go == 1; }));
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  EXPECT_EQ(engine.client->held(Resource::kCalls), 0u);
}

}  // namespace
}  // namespace drover::engine
