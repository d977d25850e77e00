// What the calls of a client hold is charged to its account, and what is over the budget costs that client only.
#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

size_t held(const AccountRef& account, Resource resource) { return account->held(resource); }

TEST(ClientBudget, ACallIsChargedUntilTheHostIsDoneWithItToo) {
  LedgerLimits limits;
  limits[Level::kConnection].calls = 2;
  TestThread engine({}, limits);
  FakeHost host(engine);
  engine.call("a");
  Call& left = engine.call("b");
  host.take();
  engine.dispatcher.abandon(left);  // the client has gone; the host still runs it
  EXPECT_EQ(held(engine.client, Resource::kCalls), 2u);
  engine.call("c");
  EXPECT_EQ(engine.opened.code, StatusCode::kResourceExhausted);
  host.answer(host.calls[1], host.calls[1].wire);
  engine.pump();
  EXPECT_EQ(held(engine.client, Resource::kCalls), 1u);
  engine.call("d");
  EXPECT_EQ(engine.opened.code, StatusCode::kOk);
}

TEST(ClientBudget, CallsOfAClosedConnectionStayChargedToItsAddress) {
  LedgerLimits limits;
  limits[Level::kAddress].calls = 3;
  TestThread engine({}, limits);
  FakeHost host(engine);
  for (int round = 0; round < 3; ++round) {  // a call, and the connection is closed
    engine.dispatcher.abandon(engine.call("x"));
    engine.client = engine.ledger.open_connection("client");
  }
  host.take();
  ASSERT_EQ(host.calls.size(), 3u);
  engine.call("y");
  EXPECT_EQ(engine.opened.code, StatusCode::kResourceExhausted);
  engine.client = engine.ledger.open_connection("another");
  engine.call("z");
  EXPECT_EQ(engine.opened.code, StatusCode::kOk);
}

TEST(ClientBudget, CallsThatTimeOutTogetherEndAFewATurn) {
  TestThread engine;
  FakeHost host(engine, {.ring_slots = 1024});
  std::vector<Call*> late;
  for (int i = 0; i < 1000; ++i) late.push_back(&engine.call("late", 60'000'000'000));
  const int64_t over = late.back()->deadline_ns + 2 * TimerWheel::kTickNs;
  size_t turns = 0, ended = 0;
  for (; ended < late.size() && turns < 100; ++turns) {
    const size_t before = ended;
    engine.dispatcher.poll(over);
    ended = engine.transport.answers.size();
    EXPECT_LE(ended - before, 256u);
    if (ended < late.size()) EXPECT_LE(engine.dispatcher.next_timer_ns(), over) << "there is more to do now";
  }
  EXPECT_EQ(ended, late.size());
  for (Call* call : late) EXPECT_EQ(engine.transport.answer(*call).code, StatusCode::kDeadlineExceeded);
}

TEST(ClientBudget, AnAnnouncedLengthTakesAShareOfTheRegionAndTheHeapAsItArrives) {
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = 1 << 20});
  constexpr size_t kAnnounced = 200'000;
  size_t in_region = 0, on_heap = 0;
  for (int i = 0; i < 20; ++i) {
    std::span<char> got = engine.dispatcher.message_buffer(engine.begin(), kAnnounced, 0);
    ASSERT_FALSE(got.empty());
    ++(got.size() == kAnnounced ? in_region : on_heap);
  }
  EXPECT_EQ(in_region, 2u);  // half of rx
  EXPECT_LE(held(engine.client, Resource::kArriving), 1u << 19);
  EXPECT_LE(held(engine.client, Resource::kMemory), on_heap * 20'000);

  // Another client's request of the usual size has room, in the region or outside.
  engine.client = engine.ledger.open_connection("victim");
  std::string wire = echo_wire(std::string(100'000, 'v'));
  Call& call = engine.begin();
  std::span<char> buffer;
  for (size_t have = 0; have < wire.size(); have = buffer.size()) {
    buffer = engine.dispatcher.message_buffer(call, wire.size(), have);
    ASSERT_GT(buffer.size(), have);
    wire.copy(buffer.data() + have, buffer.size() - have, have);
  }
  engine.dispatcher.message(call, {}, More::kLast);
  host.take();
  ASSERT_EQ(host.calls.size(), 1u);
  EXPECT_EQ(host.calls[0].wire, wire);
  engine.abandon_calls();
  EXPECT_EQ(engine.ledger.thread().held(Resource::kArriving), 0u);
  EXPECT_EQ(engine.ledger.thread().held(Resource::kMemory), 0u);
}

// They lie in rx until their calls start, however small they are.
TEST(ClientBudget, MessagesThatWaitInTheRegionAreItsClientsShareUntilTheyStart) {
  constexpr size_t kRx = 4 << 20;
  TestThread engine;
  FakeHost host(engine, {.rx_bytes = kRx, .ring_slots = 1024});
  for (int i = 0; i < 8; ++i) engine.call(std::string(300'000, 'l'));  // more than half of rx: what follows waits
  ASSERT_GT(engine.dispatcher.waiting_calls(), 0u);
  const std::string wire = echo_wire(std::string(20'000, 'w'));
  size_t in_region = 0;
  for (int i = 0; i < 150; ++i) {
    Call& call = engine.begin();
    std::span<char> buffer = engine.dispatcher.message_buffer(call, wire.size(), 0);
    in_region += buffer.size() == wire.size();
    for (size_t have = 0; have < wire.size(); have = buffer.size()) {
      if (have != 0) buffer = engine.dispatcher.message_buffer(call, wire.size(), have);
      ASSERT_GT(buffer.size(), have);
      wire.copy(buffer.data() + have, buffer.size() - have, have);
    }
    engine.dispatcher.message(call, {}, More::kLast);
  }
  EXPECT_GT(in_region, 10u);
  EXPECT_GE(held(engine.client, Resource::kArriving), in_region * wire.size());
  EXPECT_LE(held(engine.client, Resource::kArriving), kRx / 2);
  EXPECT_TRUE(engine.pump_until([&] {
    host.serve();
    return engine.transport.answers.size() == engine.calls.size();
  }));
  EXPECT_EQ(engine.ledger.thread().held(Resource::kArriving), 0u);
}

TEST(ClientBudget, RequestsOnTheHeapAreRefusedBeyondTheBudget) {
  LedgerLimits limits;
  limits[Level::kConnection].memory = 100'000;
  TestThread engine({}, limits);  // without a host: requests wait on the heap
  engine.dispatcher.expect(1, std::make_shared<const std::vector<ExpectedMethod>>(1, ExpectedMethod{"/test.Echo/Say"}));
  Call& one = engine.call(std::string(60'000, 'x'));
  Call& two = engine.call(std::string(60'000, 'x'));
  EXPECT_FALSE(engine.transport.answered(one));
  ASSERT_TRUE(engine.transport.answered(two));
  EXPECT_EQ(engine.transport.answer(two).code, StatusCode::kResourceExhausted);
  engine.abandon_calls();
  EXPECT_EQ(held(engine.client, Resource::kMemory), 0u);
}

// Answers `count` calls of a client that takes none of the replies. The codes of the answers.
std::vector<StatusCode> untaken(TestThread& engine, FakeHost& host, int count, size_t size) {
  engine.transport.send_at_once = false;
  std::vector<Call*> calls;
  for (int i = 0; i < count; ++i) {
    calls.push_back(&engine.call("x"));
    host.take();
    host.answer(host.calls.back(), echo_wire(std::string(size, 'r')), static_cast<uint32_t>(i) + 1);
    EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answered(*calls.back()); }));
  }
  std::vector<StatusCode> codes;
  for (Call* call : calls) codes.push_back(engine.transport.answer(*call).code);
  return codes;
}

TEST(ClientBudget, RepliesThatAClientDoesNotTakeLeaveTxToOthers) {
  TestThread engine;
  FakeHost host(engine);  // 16 MiB of tx
  std::vector<StatusCode> codes = untaken(engine, host, 14, 1'000'000);
  for (StatusCode code : codes) EXPECT_EQ(code, StatusCode::kOk);
  EXPECT_EQ(held(engine.client, Resource::kLent) / 1'000'000, 8u);  // half of tx; the others were copied
  EXPECT_EQ(held(engine.client, Resource::kMemory) / 1'000'000, 6u);
  std::this_thread::sleep_for(std::chrono::milliseconds(12));
  engine.pump();
  host.take();
  EXPECT_EQ(host.released.size(), 6u) << "the memory of copied replies goes back at once";
  engine.abandon_calls();
  EXPECT_EQ(held(engine.client, Resource::kLent), 0u);
  EXPECT_EQ(held(engine.client, Resource::kMemory), 0u);
}

TEST(ClientBudget, RepliesBeyondTheMemoryOfAClientEndItsCalls) {
  LedgerLimits limits;
  limits[Level::kConnection].memory = 3'000'000;
  TestThread engine({}, limits);
  FakeHost host(engine);
  std::vector<StatusCode> codes = untaken(engine, host, 12, 1'000'000);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), StatusCode::kOk), 10);
  EXPECT_EQ(codes.back(), StatusCode::kResourceExhausted);
  EXPECT_LE(held(engine.client, Resource::kMemory), 3'000'000u);
}

TEST(ClientBudget, RepliesThatReferToAHostThatHasGoneAreCutOff) {
  TestThread engine;
  engine.transport.send_at_once = false;
  FakeHost host(engine);
  Call& call = engine.call("x");
  host.take();
  host.answer(host.calls[0], echo_wire(std::string(50'000, 'r')), 1);
  engine.pump();
  ASSERT_TRUE(engine.transport.answered(call));
  engine.dispatcher.detach(host.id);
  engine.dispatcher.poll(monotonic_ns() + 4'000'000'000);
  EXPECT_TRUE(engine.transport.cut.empty());
  EXPECT_EQ(engine.events.let_go, 0);
  engine.dispatcher.poll(monotonic_ns() + 7'000'000'000);
  ASSERT_EQ(engine.transport.cut.size(), 1u);
  EXPECT_EQ(engine.transport.cut[0], &call);
  engine.dispatcher.abandon(call);
  EXPECT_EQ(engine.events.let_go, 1);
}

}  // namespace
}  // namespace drover::engine
