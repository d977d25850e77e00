// When an engine thread may sleep: which hosts are told, and which of their lanes are looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "channel/doorbell.h"
#include "engine/dispatch/dispatch_testing.h"
#include "engine/net/event_loop.h"

namespace drover::engine {
namespace {

TEST(Sleep, AThreadLooksAtAFewLanesATurnBeforeItSleeps) {
  constexpr uint32_t kWorkers = 200;
  TestThread engine;
  FakeHost host(engine, {.workers = kWorkers});
  for (uint32_t i = 0; i < kWorkers; ++i) engine.call("x");
  while (engine.pump()) {
  }
  host.take();
  ASSERT_EQ(host.calls.size(), kWorkers);
  // Each look that finds nothing and is not the last asks for a turn; then the thread may sleep.
  auto looks_before_sleep = [&] {
    int looks = 1;
    for (; engine.dispatcher.prepare_to_sleep() && looks < 100; ++looks) {
      engine.dispatcher.woke_up();
      engine.pump();
    }
    engine.dispatcher.woke_up();
    return looks;
  };
  EXPECT_EQ(looks_before_sleep(), 4) << "of 64 lanes each";

  // An answer in a lane that was looked at: its worker sees the announcement, and rings.
  ASSERT_TRUE(engine.dispatcher.prepare_to_sleep());
  engine.dispatcher.woke_up();
  auto* words = reinterpret_cast<EngineThreadShared*>(host.region->base() + host.layout->engine_thread_shared(0));
  EXPECT_NE(words->waiting.load(), 0u) << "what was looked at stays announced";
  auto answered = std::find_if(host.calls.begin(), host.calls.end(), [](const auto& call) { return call.worker == 0; });
  host.answer(*answered, answered->wire);
  uint32_t number = words->waiting.load();
  engine.dispatcher.rung();
  EXPECT_TRUE(engine.dispatcher.prepare_to_sleep());
  EXPECT_NE(words->waiting.load(), number) << "workers ring once for each number";
  engine.dispatcher.woke_up();
  EXPECT_TRUE(engine.pump_until([&] { return engine.transport.answers.size() == 1; }));
  EXPECT_EQ(words->waiting.load(), 0u) << "a thread with work does not sleep";
}

TEST(Sleep, AThreadSleepsBesideIdleHostsAndIsToldOfWorkByBusyOnes) {
  TestThread engine;
  FakeHost idle(engine, {.workers = 64, .paths = {"/test.Good/Say"}}), busy(engine);
  engine.pump();
  EXPECT_FALSE(engine.dispatcher.prepare_to_sleep());
  auto announced = [](const FakeHost& host) {
    auto* words = reinterpret_cast<EngineThreadShared*>(host.region->base() + host.layout->engine_thread_shared(0));
    return words->waiting.load() != 0;
  };
  EXPECT_FALSE(announced(idle));
  EXPECT_FALSE(announced(busy));
  engine.dispatcher.woke_up();
  engine.call("x");
  engine.pump();
  EXPECT_FALSE(engine.dispatcher.prepare_to_sleep());
  EXPECT_TRUE(announced(busy));
  EXPECT_FALSE(announced(idle));
  engine.dispatcher.woke_up();
  busy.serve();
  EXPECT_TRUE(engine.dispatcher.prepare_to_sleep()) << "its answer has come meanwhile";
  engine.dispatcher.woke_up();
}

// Workers of a host of its own thread answer at any time, also in lanes that were looked at already. No answer may find
// the thread asleep for good.
TEST(Sleep, NoAnswerIsLostWhileManyLanesAreLookedAt) {
  constexpr uint32_t kWorkers = 200;
  constexpr int64_t kLongest = 2'000'000'000;
  TestThread engine;
  FakeHost host(engine, {.workers = kWorkers});
  EventLoop loop({.spin_ns = 0});
  auto* words = reinterpret_cast<EngineThreadShared*>(host.region->base() + host.layout->engine_thread_shared(0));
  std::vector<EngineBell> bells(kWorkers, EngineBell(words, host.bells[0].get()));
  for (int round = 0; round < 10; ++round) {
    const size_t answers = engine.transport.answers.size() + kWorkers;
    for (uint32_t i = 0; i < kWorkers; ++i) engine.call("x");
    loop.turn(&engine.dispatcher, nullptr, 0);
    std::thread workers([&] {
      std::mt19937 random(round);
      host.take();
      std::shuffle(host.calls.begin(), host.calls.end(), random);
      for (; !host.calls.empty(); host.calls.pop_front()) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 60));
        host.answer(host.calls.front(), host.calls.front().wire, host.next_tx_call++);
        bells[host.calls.front().worker].ring();
      }
    });
    while (engine.transport.answers.size() < answers) {
      int64_t before = monotonic_ns();
      loop.turn(&engine.dispatcher, nullptr, kLongest);
      if (monotonic_ns() - before < kLongest) continue;
      ADD_FAILURE() << "it slept although answers were there";
      break;
    }
    workers.join();
  }
  EXPECT_EQ(engine.transport.answers.size(), 10 * kWorkers);
}

}  // namespace
}  // namespace drover::engine
