// What one host may cost the engine and the other hosts: time by slices, memory of replies, routes in small steps.
#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;

class HostBudgetTest : public testing::Test {
 protected:
  static std::unique_ptr<TestThread> thread(const ResponseReader::Options& responses, int64_t wait_ns = 5'000 * kMs,
                                            size_t max_reply_bytes = 128 << 20) {
    DispatchOptions options;
    options.responses = responses;
    options.max_reply_bytes = max_reply_bytes;
    options.wait_ns = wait_ns;
    return std::make_unique<TestThread>(options);
  }
  // A call of the other host's.
  static Call& good_call(TestThread& engine) {
    Call& call = engine.begin("/test.Good/Say");
    EXPECT_EQ(engine.opened.code, StatusCode::kOk) << engine.opened.message;
    engine.dispatcher.message(call, echo_wire("fine"), More::kLast);
    return call;
  }
  // Answers the host's next call with an object that refers `times` times to one and the same empty message.
  static void answer_with_repeats(FakeHost& host, uint32_t times, CompleteSlot* slot = nullptr) {
    host.take();
    ASSERT_FALSE(host.calls.empty());
    uint64_t object = host.build(echo_wire("", 5));
    uint64_t array = host.tx_pool->allocate(ChunkPool::chunks_for(times * 8));
    ASSERT_NE(array, ChunkPool::kNone);
    char* base = host.region->base();
    char* field = base + object + echo_type().find_field(5)->offset;
    auto* old = reinterpret_cast<int64_t*>(field + *reinterpret_cast<int64_t*>(field));
    char* inner = reinterpret_cast<char*>(old) + *old;
    for (uint32_t i = 0; i < times; ++i) {
      auto* pointer = reinterpret_cast<int64_t*>(base + array + 8 * i);
      *pointer = inner - reinterpret_cast<char*>(pointer);
    }
    *reinterpret_cast<int64_t*>(field) = base + array - field;
    std::memcpy(field + 8, &times, 4);
    CompleteSlot made = FakeHost::completion(host.calls.front());
    made.response = object;
    made.tx_call = 99;
    host.push(host.calls.front().worker, to_slot(made));
    host.calls.pop_front();
    if (slot != nullptr) *slot = made;
  }
  // Wire bytes that are copied when they are encoded, not lent.
  static std::string copied(int items) {
    std::string wire;
    for (int i = 0; i < items; ++i) wire += echo_wire(echo_wire(std::string(100, 'c')), 5);
    return wire;
  }
};

constexpr uint32_t kMany = 1'000'000;

TEST_F(HostBudgetTest, ALongAnswerIsEncodedInSlicesBetweenWhichOthersAreServed) {
  auto engine = thread({.inline_ns = 0});
  FakeHost bad(*engine), good(*engine, {.paths = {"/test.Good/Say"}});
  Call& heavy = engine->call("x");
  answer_with_repeats(bad, kMany);
  int turns = 0, served = 0;
  while (!engine->transport.answered(heavy) && turns < 10'000) {
    Call& fine = good_call(*engine);
    good.serve();
    engine->pump();
    served += engine->transport.answered(fine);
    ++turns;
  }
  EXPECT_GE(turns, 5) << "a million messages take more than a few slices";
  EXPECT_GE(served, turns - 1 - turns / 5) << "a turn in which the thread was not running may be missed";
  ASSERT_TRUE(engine->transport.answered(heavy));
  EXPECT_EQ(engine->transport.answer(heavy).code, StatusCode::kOk);
  EXPECT_EQ(engine->transport.answer(heavy).body.size(), size_t{2} * kMany);
  EXPECT_EQ(engine->transport.answer(heavy).body.substr(0, 4), std::string("\x2a\0\x2a\0", 4));
}

TEST_F(HostBudgetTest, AShortAnswerIsTheSameInSlicesAndAtOnce) {
  auto engine = thread({.inline_ns = 0});
  FakeHost host(*engine);
  std::string wire = copied(3000) + echo_wire(std::string(5000, 'l'));
  Call& call = engine->call("x");
  host.take();
  host.answer(host.calls[0], wire, 7);
  ASSERT_TRUE(engine->pump_until([&] { return engine->transport.answered(call); }));
  EXPECT_EQ(engine->transport.answer(call).code, StatusCode::kOk);
  EXPECT_EQ(engine->transport.answer(call).body.size(), wire.size());
  EXPECT_EQ(engine->dispatcher.calls(), 0u);
  EXPECT_EQ(engine->dispatcher.reply_bytes(), 0u);
}

TEST_F(HostBudgetTest, ALongAnswerWhoseCallEndsIsGivenUpAndItsMemoryReleased) {
  for (bool abandon : {true, false}) {
    auto engine = thread({.inline_ns = 0});
    FakeHost host(*engine);
    Call& call = engine->call("x", abandon ? 0 : 60'000 * kMs);
    answer_with_repeats(host, kMany);
    ASSERT_TRUE(engine->pump_until([&] { return engine->dispatcher.reply_bytes() > 0; }));
    ASSERT_FALSE(engine->transport.answered(call));
    if (abandon) {
      engine->dispatcher.abandon(call);
    } else {
      engine->ahead_ns = 60'000 * kMs;
    }
    ASSERT_TRUE(engine->pump_until([&] { return engine->dispatcher.calls() == 0; }));
    engine->pump();
    EXPECT_EQ(engine->dispatcher.reply_bytes(), 0u);
    if (!abandon) EXPECT_EQ(engine->transport.answer(call).code, StatusCode::kDeadlineExceeded);
    ASSERT_TRUE(engine->pump_until([&] { return host.take(), host.released.size() == 1; }));
    EXPECT_EQ(host.released[0], 99u);
  }
}

TEST_F(HostBudgetTest, AHostThatDiesInALongAnswerIsLetGoOf) {
  auto engine = thread({.inline_ns = 0});
  FakeHost host(*engine);
  Call& call = engine->call("x");
  answer_with_repeats(host, kMany);
  engine->pump();
  ASSERT_FALSE(engine->transport.answered(call));
  host.die();
  ASSERT_TRUE(engine->pump_until([&] { return engine->events.let_go == 1; }));
  EXPECT_EQ(engine->transport.answer(call).code, StatusCode::kUnavailable);
  EXPECT_EQ(engine->dispatcher.reply_bytes(), 0u);
}

// 20 completions of 7 million visits each, with nearly no output: they stopped another host for as long as they took.
TEST_F(HostBudgetTest, ManyCompletionsWithoutEndCostAnotherHostOnlySlices) {
  auto engine = thread({});
  FakeHost bad(*engine), good(*engine, {.paths = {"/test.Good/Say"}});
  for (int i = 0; i < 20; ++i) engine->call("x");
  bad.take();
  CompleteSlot first{};
  answer_with_repeats(bad, kMany, &first);
  for (; !bad.calls.empty(); bad.calls.pop_front()) {
    CompleteSlot slot = FakeHost::completion(bad.calls.front());
    slot.response = first.response;
    bad.push(0, to_slot(slot));
  }
  size_t most_answers = 0, served = 0;
  for (int turn = 0; turn < 50; ++turn) {
    size_t before = engine->transport.answers.size();
    Call& fine = good_call(*engine);
    good.serve();
    engine->pump();
    served += engine->transport.answered(fine);
    most_answers = std::max(most_answers, engine->transport.answers.size() - before - 1);
  }
  EXPECT_GE(served, 40u) << "of 50; a turn in which the thread was not running may be missed";
  EXPECT_LE(most_answers, 2u) << "of the long ones, and one of the turn before, in one turn";
}

class ReplyMemoryTest : public HostBudgetTest {
 protected:
  void serve(FakeHost& host, const std::string& wire) {
    host.take();
    for (; !host.calls.empty(); host.calls.pop_front()) host.answer(host.calls.front(), wire, host.next_tx_call++);
    engine_->pump();
  }
  size_t answered(const std::vector<Call*>& calls) {
    size_t count = 0;
    for (Call* call : calls) count += engine_->transport.answered(*call);
    return count;
  }
  void start(int64_t wait_ns) {
    engine_ = thread({.inline_ns = 1'000 * kMs}, wait_ns, 2 << 20);
    engine_->transport.send_at_once = false;
  }
  std::unique_ptr<TestThread> engine_;
};

TEST_F(ReplyMemoryTest, RepliesThatFindNoRoomWaitAndAnotherHostsDoNot) {
  start(5'000 * kMs);
  FakeHost greedy(*engine_), good(*engine_, {.paths = {"/test.Good/Say"}});
  std::string wire = copied(2000);  // 210 KB
  std::vector<Call*> calls;
  for (int i = 0; i < 12; ++i) calls.push_back(&engine_->call("x"));
  serve(greedy, wire);
  for (int i = 0; i < 5; ++i) engine_->pump();
  size_t at_first = answered(calls);
  EXPECT_GE(at_first, 2u);
  EXPECT_LT(at_first, 8u);
  EXPECT_LE(engine_->dispatcher.reply_bytes(), size_t{1} << 20);
  Call& fine = good_call(*engine_);
  serve(good, copied(500));
  EXPECT_TRUE(engine_->transport.answered(fine));
  // Each reply that a client takes makes room for the next.
  for (int round = 0; round < 20 && answered(calls) < calls.size(); ++round) {
    for (Call* call : calls) {
      if (engine_->transport.answered(*call) && call->dispatch != nullptr) engine_->dispatcher.reply_sent(*call);
    }
    engine_->pump();
  }
  EXPECT_EQ(answered(calls), calls.size());
  for (Call* call : calls) {
    EXPECT_EQ(engine_->transport.answer(*call).code, StatusCode::kOk);
    EXPECT_EQ(engine_->transport.answer(*call).body, wire);
    if (call->dispatch != nullptr) engine_->dispatcher.reply_sent(*call);
  }
  engine_->dispatcher.reply_sent(fine);
  EXPECT_EQ(engine_->dispatcher.reply_bytes(), 0u);
  EXPECT_EQ(engine_->dispatcher.calls(), 0u);
}

TEST_F(ReplyMemoryTest, AReplyThatFindsNoRoomInTimeEndsInResourceExhausted) {
  start(30 * kMs);
  FakeHost greedy(*engine_);
  std::vector<Call*> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(&engine_->call("x"));
  serve(greedy, copied(2000));
  EXPECT_LT(answered(calls), calls.size());
  EXPECT_TRUE(engine_->pump_until([&] { return answered(calls) == calls.size(); }));
  int refused = 0;
  for (Call* call : calls) {
    const Answer& answer = engine_->transport.answer(*call);
    if (answer.code == StatusCode::kOk) continue;
    EXPECT_EQ(answer.code, StatusCode::kResourceExhausted);
    EXPECT_NE(answer.message.find("dispatch.max_reply_bytes"), std::string::npos) << answer.message;
    ++refused;
  }
  EXPECT_GE(refused, 2);
  for (Call* call : calls) engine_->dispatcher.reply_sent(*call);
  ASSERT_TRUE(engine_->pump_until([&] { return greedy.take(), greedy.released.size() == 10; }))
      << "the host has its memory back";
}

TEST_F(ReplyMemoryTest, AReplyThatIsLargerThanAHostsWholePartIsRefusedAtOnce) {
  start(5'000 * kMs);
  FakeHost host(*engine_);
  Call& call = engine_->call("x");
  serve(host, copied(12'000));  // 1.2 MB
  ASSERT_TRUE(engine_->transport.answered(call));
  EXPECT_EQ(engine_->transport.answer(call).code, StatusCode::kResourceExhausted);
}

TEST_F(ReplyMemoryTest, ACallThatEndsWhileItsReplyWaitsGivesTheHostItsMemoryBack) {
  start(5'000 * kMs);
  FakeHost greedy(*engine_);
  std::vector<Call*> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(&engine_->call("x"));
  serve(greedy, copied(2000));
  ASSERT_LT(answered(calls), calls.size());
  for (Call* call : calls) engine_->dispatcher.abandon(*call);
  ASSERT_TRUE(engine_->pump_until([&] { return greedy.take(), greedy.released.size() == 10; }));
  EXPECT_EQ(engine_->dispatcher.calls(), 0u);
  EXPECT_EQ(engine_->dispatcher.reply_bytes(), 0u);
}

std::vector<std::string> many_methods(int count, const std::string& service = "/many.Many/M") {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) paths.push_back(service + std::to_string(i));
  return paths;
}

TEST_F(HostBudgetTest, ManyMethodsComeAndGoAFewATurnWhileOthersAreServed) {
  auto engine = thread({}, 10 * kMs);
  FakeHost good(*engine, {.paths = {"/test.Good/Say"}});
  engine->pump();
  FakeHost many(*engine, {.paths = many_methods(2000), .addresses = {"0.0.0.0:50051", "0.0.0.0:50052"}});
  auto turns_until = [&](const std::function<bool()>& done) {
    int turns = 0;
    for (; !done() && turns < 10'000; ++turns) {
      uint64_t before = engine->dispatcher.changes().touched();
      Call& fine = good_call(*engine);
      good.serve();
      engine->pump();
      EXPECT_TRUE(engine->transport.answered(fine));
      EXPECT_LE(engine->dispatcher.changes().touched() - before, RouteChanges::kRoutesPerTurn);
    }
    return turns;
  };
  EXPECT_GE(turns_until([&] { return engine->events.attached == 2; }), 4000 / 256);
  EXPECT_EQ(engine->dispatcher.routes(), 4001u);
  many.die();
  EXPECT_GE(turns_until([&] { return engine->events.let_go == 1; }), 4000 / 256 - 1);
  turns_until([&] { return engine->dispatcher.routes() == 1; });
  int methods = 0;
  engine->metrics.visit([&](const MethodMetrics&) { ++methods; }, [](const ThreadMetrics::Series&) {});
  EXPECT_EQ(methods, 2) << "the good host's, and the unknown ones";
}

TEST_F(HostBudgetTest, AMethodThatIsStillBeingTakenInIsUnavailableRatherThanUnknown) {
  auto engine = thread({});
  FakeHost many(*engine, {.paths = many_methods(1000)});
  engine->begin("/many.Many/M999");
  EXPECT_EQ(engine->opened.code, StatusCode::kUnavailable);
  ASSERT_TRUE(engine->pump_until([&] { return engine->events.attached == 1; }));
  engine->begin("/many.Many/M999");
  EXPECT_EQ(engine->opened.code, StatusCode::kOk);
  engine->begin("/many.Many/M1000");
  EXPECT_EQ(engine->opened.code, StatusCode::kUnimplemented);
}

TEST_F(HostBudgetTest, AHostThatDiesWhileItIsAttachedLeavesNothing) {
  auto engine = thread({}, 1 * kMs);
  FakeHost many(*engine, {.paths = many_methods(2000)});
  engine->pump();
  many.die();
  ASSERT_TRUE(engine->pump_until([&] { return engine->events.let_go == 1; }));
  EXPECT_EQ(engine->events.attached, 0);
  ASSERT_TRUE(engine->pump_until([&] { return engine->dispatcher.routes() == 0; }));
}

TEST_F(HostBudgetTest, CallsWaitForTheRestOfTheTimeAfterAHostsDeathOnly) {
  constexpr int64_t kWaitNs = 60'000 * kMs;
  auto engine = thread({}, kWaitNs);
  FakeHost host(*engine);
  engine->pump();
  const int64_t alive = monotonic_ns();
  host.die();
  engine->pump();
  const int64_t dead = monotonic_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Call& late = engine->call("late");
  engine->dispatcher.poll(alive + kWaitNs - kMs);
  ASSERT_FALSE(engine->transport.answered(late));
  engine->dispatcher.poll(dead + kWaitNs + 2 * TimerWheel::kTickNs);
  ASSERT_TRUE(engine->transport.answered(late)) << "it waits for as long again as since the host's death";
  EXPECT_EQ(engine->transport.answer(late).code, StatusCode::kUnavailable);
}

TEST_F(HostBudgetTest, AMethodThatOnlyADeadHostServedEndsAtOnceWhenItsTimeIsOver) {
  auto engine = thread({}, 5 * kMs);
  auto dead = std::make_unique<FakeHost>(*engine, FakeHost::Options{.paths = {"/test.Echo/Say", "/test.Dead/Say"}});
  dead->die();
  ASSERT_TRUE(engine->pump_until([&] { return engine->dispatcher.routes() == 0; }));
  engine->begin("/test.Dead/Say");
  EXPECT_EQ(engine->opened.code, StatusCode::kUnavailable);
  EXPECT_EQ(engine->opened.message, "no process of the service is attached");
  FakeHost other(*engine);
  engine->begin("/test.Dead/Say");
  EXPECT_EQ(engine->opened.code, StatusCode::kUnimplemented);
  engine->begin("/test.Echo/Say");
  EXPECT_EQ(engine->opened.code, StatusCode::kOk);
}

TEST_F(HostBudgetTest, AHostThatComesBackWithinTheTimeServesTheCallsThatWaited) {
  auto engine = thread({}, 2'000 * kMs);
  auto dead = std::make_unique<FakeHost>(*engine);
  engine->pump();
  dead->die();
  Call& waits = engine->call("waits");
  engine->pump();
  EXPECT_FALSE(engine->transport.answered(waits));
  FakeHost back(*engine);
  engine->pump();
  back.serve();
  engine->pump();
  ASSERT_TRUE(engine->transport.answered(waits));
  EXPECT_EQ(engine->transport.answer(waits).code, StatusCode::kOk);
}

}  // namespace
}  // namespace drover::engine
