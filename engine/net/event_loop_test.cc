#include "engine/net/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <new>
#include <thread>

namespace drover::engine {
namespace {

struct Doorbell : Pollable {
  bool poll(int64_t) override {
    ++polls;
    return std::exchange(work, false);
  }
  bool prepare_to_sleep() override {
    ++slept;
    return late_work;
  }
  void woke_up() override { ++woke; }
  void rung() override { ++rings; }
  int64_t next_timer_ns() const override { return timer; }
  int wake_fd() const override { return fd.get(); }
  void ring() {
    uint64_t one = 1;
    ASSERT_EQ(::write(fd.get(), &one, sizeof one), 8);
  }
  UniqueFd fd{eventfd(0, EFD_NONBLOCK)};
  int polls = 0, slept = 0, woke = 0, rings = 0;
  bool work = false, late_work = false;
  int64_t timer = kNoDeadline;
};

TEST(EventLoop, AnIdleLoopSleepsUntilTheDoorbellRingsEachTime) {
  EventLoop loop({0, -1, ""});
  Doorbell bell;
  for (int i = 0; i < 3; ++i) {
    bell.ring();
    int64_t start = monotonic_ns();
    loop.turn(&bell, nullptr, 5'000'000'000);
    EXPECT_LT(monotonic_ns() - start, 2'000'000'000);
  }
  int64_t start = monotonic_ns();
  loop.turn(&bell, nullptr, 30'000'000);
  EXPECT_GE(monotonic_ns() - start, 25'000'000) << "an old ring does not keep it awake";
  EXPECT_EQ(bell.slept, bell.woke);
  EXPECT_EQ(bell.rings, 3);
}

TEST(EventLoop, WorkThatCameWhileItWentToSleepKeepsItAwake) {
  EventLoop loop({0, -1, ""});
  Doorbell bell;
  bell.late_work = true;
  int64_t start = monotonic_ns();
  loop.turn(&bell, nullptr, 5'000'000'000);
  EXPECT_LT(monotonic_ns() - start, 2'000'000'000);
  EXPECT_EQ(bell.woke, 1);
}

TEST(EventLoop, ATimerEndsTheSleep) {
  EventLoop loop({0, -1, ""});
  Doorbell bell;
  int64_t start = monotonic_ns();
  bell.timer = start + 20'000'000;
  loop.turn(&bell, nullptr, 5'000'000'000);
  int64_t slept = monotonic_ns() - start;
  EXPECT_GE(slept, 19'000'000);
  EXPECT_LT(slept, 2'000'000'000);
}

TEST(EventLoop, WithinTheSpinItDoesNotSleep) {
  EventLoop loop({1'000'000'000'000, -1, ""});
  Doorbell bell;
  for (int i = 0; i < 10; ++i) loop.turn(&bell, nullptr, 5'000'000'000);
  EXPECT_EQ(bell.slept, 0);
  EXPECT_EQ(bell.polls, 10);
}

TEST(EventLoop, ClosuresFromOtherThreadsRunInOrderOnTheLoopsThread) {
  EventLoop loop({0, -1, "test-loop"});
  std::vector<int> order;
  std::thread::id where;
  std::thread runner([&] { loop.run(nullptr, nullptr, nullptr); });
  for (int i = 0; i < 100; ++i) loop.post([&order, i] { order.push_back(i); });
  loop.post([&] {
    where = std::this_thread::get_id();
    loop.stop();
  });
  std::thread::id id = runner.get_id();
  runner.join();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_EQ(where, id);
}

TEST(EventLoop, AReadyDescriptorTellsItsHandler) {
  struct Reader : FdHandler {
    void on_ready(uint32_t events) override { seen |= events; }
    uint32_t seen = 0;
  } reader;
  EventLoop loop({0, -1, ""});
  UniqueFd fd(eventfd(1, EFD_NONBLOCK));
  ASSERT_TRUE(loop.io().add(fd.get(), EPOLLIN, &reader));
  loop.turn(nullptr, nullptr, 1'000'000'000);
  EXPECT_TRUE(reader.seen & EPOLLIN);
}

TEST(EventLoop, WorkThatFindsNoMemoryEndsNothingElse) {
  EventLoop loop({});
  bool ran = false;
  loop.post([] { throw std::bad_alloc(); });
  loop.post([&ran] { ran = true; });
  loop.turn(nullptr, nullptr, 0);
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace drover::engine
