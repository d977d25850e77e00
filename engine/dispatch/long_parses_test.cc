// Large requests: parsed in slices between which others are served, bounded, and given up cleanly.
#include <gtest/gtest.h>

#include <cstring>

#include "channel/control.h"
#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr size_t kSliceBytes = 8 << 10;

// Costly for its size: an object an item.
std::string items(size_t bytes = 256 << 10) {
  std::string wire;
  while (wire.size() < bytes) wire += echo_wire("", 5);
  return wire;
}

class LongParsesTest : public testing::Test {
 protected:
  enum class Place { kRegion, kHeap };

  // A turn gives one slice to large requests, and none when they come.
  static DispatchOptions one_slice_a_turn() {
    DispatchOptions options;
    options.parses = {.at_once_ns = 0, .serve_ns = 1'000};  // a slice takes longer
    return options;
  }
  void start(const LedgerLimits& limits = {}, const DispatchOptions& options = one_slice_a_turn()) {
    engine_ = std::make_unique<TestThread>(options, limits);
  }
  std::unique_ptr<FakeHost> host(const FakeHost::Options& more = {}) {
    FakeHost::Options options = more;
    if (options.rx_bytes == 0) options.rx_bytes = 64 << 20;
    return std::make_unique<FakeHost>(*engine_, options);
  }
  // A request as the transport gives it, in parts.
  Call& call(std::string_view wire, Place place = Place::kRegion, int64_t timeout_ns = 0) {
    Call& call = engine_->begin("/test.Echo/Say", timeout_ns);
    EXPECT_EQ(engine_->opened.code, StatusCode::kOk) << engine_->opened.message;
    if (place == Place::kHeap) {
      engine_->dispatcher.message(call, wire, More::kLast);
      return call;
    }
    std::span<char> buffer = engine_->dispatcher.message_buffer(call, wire.size(), 0);
    EXPECT_EQ(buffer.size(), wire.size()) << "no room in the region";
    std::memcpy(buffer.data(), wire.data(), wire.size());
    engine_->dispatcher.message(call, {}, More::kLast);
    return call;
  }
  // Everything that it has, briefly.
  static void answer(FakeHost& host) {
    host.take();
    for (; !host.calls.empty(); host.calls.pop_front()) {
      host.answer(host.calls.front(), echo_wire("ok"), host.next_tx_call++);
    }
  }
  size_t held(Resource resource) { return engine_->client->held(resource); }
  // Nothing is held of any call that is over.
  void expect_nothing_held() {
    EXPECT_EQ(engine_->dispatcher.calls(), 0u);
    EXPECT_EQ(engine_->dispatcher.parses().size(), 0u);
    for (Resource one : {Resource::kMemory, Resource::kCalls, Resource::kArriving}) {
      EXPECT_EQ(engine_->ledger.thread().held(one), 0u) << resource_name(one);
    }
  }
  // All of rx: a request that needs most of it finds room.
  void expect_all_of_rx(FakeHost& host, const std::string& wire) {
    Call& again = call(wire);
    ASSERT_TRUE(engine_->pump_until([&] { return host.take(), !host.calls.empty(); }));
    answer(host);
    ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(again); }));
    EXPECT_EQ(engine_->transport.answer(again).code, StatusCode::kOk) << engine_->transport.answer(again).message;
  }

  std::unique_ptr<TestThread> engine_;
};

TEST_F(LongParsesTest, ALargeRequestTakesOneSliceATurnAndOthersAreServedBetween) {
  const std::string wire = items();
  for (Place place : {Place::kRegion, Place::kHeap}) {
    start();
    auto large = host();
    FakeHost good(*engine_, {.paths = {"/test.Good/Say"}});
    Call& heavy = call(wire, place);
    EXPECT_TRUE(engine_->dispatcher.waits(heavy)) << "the client's window stays closed meanwhile";
    size_t turns = 0, served = 0;
    for (; large->calls.empty() && turns < 10'000; ++turns) {
      EXPECT_TRUE(engine_->dispatcher.prepare_to_sleep()) << "there is more to do";
      Call& fine = engine_->begin("/test.Good/Say");
      engine_->dispatcher.message(fine, echo_wire("fine"), More::kLast);
      good.serve();
      engine_->pump();
      served += engine_->transport.answered(fine);
      large->take();
    }
    EXPECT_GE(turns, wire.size() / kSliceBytes - 1);
    EXPECT_GE(served, turns - 1 - turns / 5) << "a turn in which the thread was not running may be missed";
    ASSERT_EQ(large->calls.size(), 1u);
    EXPECT_EQ(large->calls.front().wire, wire);
    EXPECT_EQ(engine_->transport.begun, std::vector<const Call*>{&heavy});
    EXPECT_FALSE(engine_->dispatcher.prepare_to_sleep());
    answer(*large);
    ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(heavy); }));
    EXPECT_EQ(engine_->transport.answer(heavy).code, StatusCode::kOk);
    engine_->abandon_calls();
    expect_nothing_held();
  }
}

TEST_F(LongParsesTest, ALargeRequestThatIsCheapIsParsedAtOnce) {
  start({}, {});
  auto large = host();
  std::string wire = echo_wire(std::string(500'000, 'x'));
  Call& cheap = call(wire);
  large->take();
  ASSERT_EQ(large->calls.size(), 1u) << "without a turn";
  EXPECT_EQ(large->calls.front().wire, wire);
  EXPECT_FALSE(engine_->dispatcher.waits(cheap));
  EXPECT_EQ(engine_->dispatcher.parses().suspended(), 0u);
  EXPECT_EQ(held(Resource::kArriving), 0u);
}

TEST_F(LongParsesTest, AConnectionHoldsOneStackAndItsRequestsFollowEachOther) {
  start();
  auto large = host();
  std::vector<std::string> wires;
  for (size_t i = 0; i < 3; ++i) {
    wires.push_back(items((64 << 10) + 8 * i));
    call(wires.back());
  }
  EXPECT_EQ(engine_->dispatcher.parses().size(), 3u);
  size_t most = 0;
  ASSERT_TRUE(engine_->pump_until([&] {
    most = std::max(most, held(Resource::kMemory));
    return large->take(), large->calls.size() == 3;
  }));
  EXPECT_EQ(most, LongParse::kStackBytes);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(large->calls[i].wire, wires[i]);
  EXPECT_EQ(held(Resource::kArriving), 0u);
}

// An object may be many times as large as its wire bytes: what it has taken counts while it grows.
TEST_F(LongParsesTest, WhatAnObjectHasTakenOfRxIsItsClientsShareWhileItIsParsed) {
  start();
  auto large = host({.rx_bytes = 8 << 20});
  const std::string wire = items(256 << 10);
  call(wire, Place::kHeap);
  uint32_t waited = 0, turns = 0;
  for (; large->calls.empty() && waited == 0 && turns < 10'000; ++turns) {
    Call& next = call(items(40 << 10), Place::kHeap);
    waited = engine_->dispatcher.waiting_calls();
    engine_->dispatcher.abandon(next);
    engine_->pump();
    large->take();
  }
  EXPECT_EQ(waited, 1u) << "before the first is over; turns: " << turns;
  EXPECT_GT(turns, 2u) << "its wire bytes alone are no share";
  engine_->abandon_calls();
  answer(*large);
  engine_->pump();
  expect_nothing_held();
}

TEST_F(LongParsesTest, AnotherAddressDoesNotWaitForAllThatOneHasSent) {
  start();
  auto large = host();
  const std::string wire = items(128 << 10);
  for (int i = 0; i < 8; ++i) call(wire);
  AccountRef greedy = std::exchange(engine_->client, engine_->ledger.open_connection("another"));
  call(wire + echo_wire("other"));
  auto others = [&] {
    return std::any_of(large->calls.begin(), large->calls.end(),
                       [&](const auto& taken) { return taken.wire.size() > wire.size(); });
  };
  ASSERT_TRUE(engine_->pump_until([&] { return large->take(), others(); }));
  EXPECT_LE(large->calls.size(), 5u) << "it has half of the time";
  engine_->abandon_calls();
}

TEST_F(LongParsesTest, AClientWithoutMemoryForAStackIsRefused) {
  LedgerLimits limits;
  limits[Level::kConnection].memory = LongParse::kStackBytes / 2;
  start(limits);
  auto large = host();
  Call& refused = call(items());
  ASSERT_TRUE(engine_->transport.answered(refused));
  EXPECT_EQ(engine_->transport.answer(refused).code, StatusCode::kResourceExhausted);
  expect_nothing_held();
}

// How a suspended parse may be cut short. Each leaves nothing behind, in the engine and in rx.
TEST_F(LongParsesTest, AParseWhoseCallEndsGivesItsMemoryBack) {
  const std::string wire = items();  // its object takes most of rx
  for (int end = 0; end < 3; ++end) {
    start();
    auto large = host({.rx_bytes = 24 << 20});
    Call& first = call(wire, Place::kRegion, end == 1 ? 60'000 * kMs : 0);
    Call& behind = call(items(64 << 10), Place::kHeap, end == 1 ? 60'000 * kMs : 0);
    for (int turn = 0; turn < 10; ++turn) engine_->pump();
    EXPECT_GT(held(Resource::kArriving), wire.size() - 1);
    if (end == 0) {
      engine_->dispatcher.abandon(first);
      engine_->dispatcher.abandon(behind);
    } else if (end == 1) {
      engine_->ahead_ns = 61'000 * kMs;
      engine_->pump();
      EXPECT_EQ(engine_->transport.answer(first).code, StatusCode::kDeadlineExceeded);
      EXPECT_EQ(engine_->transport.answer(behind).code, StatusCode::kDeadlineExceeded);
    } else {
      engine_->dispatcher.abandon(behind);
      engine_->dispatcher.abandon(first);
    }
    expect_nothing_held();
    expect_all_of_rx(*large, wire);
  }
}

TEST_F(LongParsesTest, WhatCannotBeParsedEndsAsASmallOneWould) {
  start();
  auto large = host();
  Call& broken = call(items() + "\x0a\x7f");
  ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(broken); }));
  EXPECT_EQ(engine_->transport.answer(broken).code, StatusCode::kInternal);
  EXPECT_NE(engine_->transport.answer(broken).message.find("could not be decoded"), std::string::npos);
  expect_nothing_held();
  auto small = host({.paths = {"/test.Small/Say"}, .rx_bytes = 1 << 20});
  Call& large_for_it = engine_->begin("/test.Small/Say");
  engine_->dispatcher.message(large_for_it, items(), More::kLast);
  ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(large_for_it); }));
  EXPECT_EQ(engine_->transport.answer(large_for_it).code, StatusCode::kResourceExhausted);
  expect_nothing_held();
}

TEST_F(LongParsesTest, ARequestWhoseHostGoesMeanwhileIsParsedForTheNext) {
  const std::string wire = items();
  for (Place place : {Place::kRegion, Place::kHeap}) {
    start();
    // The region of the first is small: it is not plenty, so that no NULs are written into the wire.
    auto first = host({.rx_bytes = place == Place::kRegion ? uint64_t{2} << 20 : 0});
    Call& moved = call(wire, place);
    for (int turn = 0; turn < 3; ++turn) engine_->pump();
    first->die();
    auto second = host();
    ASSERT_TRUE(engine_->pump_until([&] { return second->take(), !second->calls.empty(); }));
    EXPECT_EQ(second->calls.front().wire, wire);
    EXPECT_EQ(engine_->events.let_go, 1) << "nothing refers to it any more";
    answer(*second);
    ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(moved); }));
    EXPECT_EQ(engine_->transport.answer(moved).code, StatusCode::kOk);
    engine_->pump();
    expect_nothing_held();
  }
}

TEST_F(LongParsesTest, ARequestWhoseBytesHaveChangedEndsWithItsHost) {
  start();
  auto only = host();
  Call& lost = call(items());
  for (int turn = 0; turn < 3; ++turn) engine_->pump();
  only->die();
  ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(lost); }));
  EXPECT_EQ(engine_->transport.answer(lost).code, StatusCode::kUnavailable);
  ASSERT_TRUE(engine_->pump_until([&] { return engine_->events.let_go == 1; }));
  expect_nothing_held();
}

TEST_F(LongParsesTest, AHostDrainsWhenItHasHadTheRequestsThatWereBeingParsed) {
  start();
  auto drained = host();
  Call& last = call(items());
  engine_->pump();
  engine_->dispatcher.drain(drained->id);
  ASSERT_TRUE(engine_->pump_until([&] { return drained->take(), !drained->calls.empty(); }));
  EXPECT_TRUE(engine_->events.drained.empty());
  answer(*drained);
  ASSERT_TRUE(engine_->pump_until([&] { return engine_->events.drained.size() == 1; }));
  EXPECT_EQ(engine_->transport.answer(last).code, StatusCode::kOk);
}

TEST_F(LongParsesTest, ARequestThatIsParsedWaitsForAFullRing) {
  start();
  auto full = host({.ring_slots = 16});
  Call& large = call(items(64 << 10));
  for (int i = 0; i < 16; ++i) engine_->call("small");
  for (int turn = 0; turn < 50; ++turn) engine_->pump();
  EXPECT_FALSE(engine_->dispatcher.prepare_to_sleep()) << "it is looked at from time to time";
  EXPECT_LT(engine_->dispatcher.next_timer_ns(), monotonic_ns() + 10 * kMs);
  ASSERT_TRUE(engine_->pump_until([&] {
    answer(*full);
    return engine_->transport.answered(large);
  }));
  EXPECT_EQ(engine_->transport.answer(large).code, StatusCode::kOk);
}

TEST_F(LongParsesTest, TheEngineMayEndWhileARequestIsParsed) {
  start();
  auto large = host();
  call(items());
  call(items());
  engine_->pump();
  engine_->abandon_calls();
  call(items());
  engine_.reset();  // after its transport, which has let go of its calls
}

TEST_F(LongParsesTest, MessagesOfAStreamKeepTheirOrderAroundALargeOne) {
  start();
  auto large = host({.flags = kMethodRequestStreams});
  const std::string wire = items();
  for (bool abandoned : {false, true}) {
    large->messages.clear();
    Call& stream = engine_->begin();
    engine_->dispatcher.start(stream);
    engine_->dispatcher.message(stream, echo_wire("first"), More::kMay);
    engine_->dispatcher.message(stream, wire, More::kMay);
    engine_->dispatcher.message(stream, echo_wire("third"), More::kMay);
    engine_->dispatcher.message(stream, wire, More::kLast);
    EXPECT_GE(held(Resource::kMemory), 2 * wire.size());
    size_t turns = 0;
    for (; large->messages.size() < (abandoned ? 1 : 4) && turns < 10'000; ++turns) {
      engine_->pump();
      large->take();
    }
    if (abandoned) {
      engine_->dispatcher.abandon(stream);
      engine_->pump();
      EXPECT_EQ(held(Resource::kMemory), 0u);
      continue;
    }
    EXPECT_GE(turns, 2 * (wire.size() / kSliceBytes - 1));
    ASSERT_EQ(large->messages.size(), 4u);
    EXPECT_EQ(large->messages[0].wire, echo_wire("first"));
    EXPECT_EQ(large->messages[1].wire, wire);
    EXPECT_EQ(large->messages[2].wire, echo_wire("third"));
    EXPECT_EQ(large->messages[3].wire, wire);
    EXPECT_EQ(large->messages[3].slot.flags, kRequestMessageLast);
    EXPECT_EQ(held(Resource::kMemory), 0u);
    large->end(large->calls.front(), StatusCode::kOk);
    engine_->pump();
    ASSERT_TRUE(engine_->transport.answered(stream));
    large->calls.clear();
  }
}

TEST_F(LongParsesTest, StreamsThatFindRoomTogetherShareATurn) {
  start({}, {});  // each is parsed at once, for longer than all of them may take of a turn
  auto full = host({.rx_bytes = 512 << 20, .ring_slots = 16, .flags = kMethodRequestStreams});
  constexpr size_t kStreams = 6;
  std::vector<Call*> streams;
  for (size_t i = 0; i < kStreams; ++i) {
    streams.push_back(&engine_->begin());
    engine_->dispatcher.start(*streams.back());
  }
  for (int i = 0; i < 16; ++i) engine_->dispatcher.message(*streams[0], echo_wire("small"), More::kMay);
  const std::string wire = items(1 << 20);
  for (Call* stream : streams) engine_->dispatcher.message(*stream, wire, More::kMay);
  full->take();
  EXPECT_LT(full->messages.size(), 16u) << "the ring is full before the large ones come";
  size_t most = 0;
  for (int turn = 0; turn < 1'000 && full->messages.size() < 16 + kStreams; ++turn) {
    const size_t before = full->messages.size();
    engine_->pump();
    full->take();
    size_t large = 0;
    for (size_t i = before; i < full->messages.size(); ++i) large += full->messages[i].wire.size() == wire.size();
    most = std::max(most, large);
  }
  EXPECT_EQ(full->messages.size(), 16 + kStreams);
  EXPECT_EQ(most, 1u) << "one takes all of the turn";
  engine_->abandon_calls();
}

TEST_F(LongParsesTest, MessagesThatFindRoomTogetherAreParsedInSeveralTurns) {
  start();
  auto busy = host({.rx_bytes = 256 << 20, .ring_slots = 256, .flags = kMethodRequestStreams});
  Call& stream = engine_->begin();
  engine_->dispatcher.start(stream);
  const std::string wire = items(LongParses::kLeastBytes - 64);  // each in one piece
  for (uint32_t i = 0; i < 2 * kMaxStreamMessages; ++i) engine_->dispatcher.message(stream, wire, More::kMay);
  busy->take();
  ASSERT_EQ(busy->messages.size(), kMaxStreamMessages);
  busy->consume(busy->calls.front(), kMaxStreamMessages);
  size_t turns = 0, most = 0;
  for (; busy->messages.size() < 2 * kMaxStreamMessages && turns < 1'000; ++turns) {
    const size_t before = busy->messages.size();
    engine_->pump();
    busy->take();
    most = std::max(most, busy->messages.size() - before);
  }
  EXPECT_EQ(busy->messages.size(), 2 * kMaxStreamMessages);
  EXPECT_LE(most, 6u) << "3 for the host that consumes, 3 of what waits";
  engine_->abandon_calls();
}

TEST_F(LongParsesTest, AStreamThatItsHostEndsWhileAMessageIsParsedIsOver) {
  start();
  auto hasty = host({.flags = kMethodRequestStreams});
  for (bool taken : {true, false}) {  // whether the client takes the reply at once
    SCOPED_TRACE(taken);
    engine_->transport.send_at_once = taken;
    Call& stream = engine_->begin();
    engine_->dispatcher.start(stream);
    engine_->dispatcher.message(stream, echo_wire("first"), More::kMay);
    engine_->dispatcher.message(stream, items(), More::kMay);
    engine_->pump();
    hasty->take();
    ASSERT_EQ(hasty->messages.size(), 1u);
    hasty->end(hasty->calls.front(), StatusCode::kOk);
    ASSERT_TRUE(engine_->pump_until([&] { return engine_->transport.answered(stream); }));
    for (int i = 0; i < 10; ++i) engine_->pump();
    hasty->take();
    EXPECT_EQ(hasty->messages.size(), 1u);
    if (!taken) engine_->transport.sink->reply_sent(stream);
    engine_->pump();
    expect_nothing_held();
    hasty->calls.clear();
    hasty->messages.clear();
  }
}

TEST_F(LongParsesTest, AStreamWhoseHostGoesWhileItsMessageIsParsedIsToldSo) {
  start();
  auto gone = host({.flags = kMethodRequestStreams});
  Call& stream = engine_->begin();
  engine_->dispatcher.start(stream);
  engine_->dispatcher.message(stream, items(), More::kMay);
  engine_->pump();
  gone->die();
  ASSERT_TRUE(engine_->pump_until([&] { return engine_->events.let_go == 1; }));
  EXPECT_EQ(engine_->transport.answer(stream).code, StatusCode::kUnavailable);
  expect_nothing_held();
}

}  // namespace
}  // namespace drover::engine
