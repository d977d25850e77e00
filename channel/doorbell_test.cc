#include "channel/doorbell.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "channel/ring.h"

namespace drover {
namespace {

constexpr SpinPolicy::Options kNeverSpin{0, 0};
constexpr int64_t kMillisecond = 1'000'000;

TEST(Doorbell, AWaitThatIsReadyMakesNoSystemCall) {
  WorkerShared shared{};
  WorkerWaiter waiter(&shared, kNeverSpin);
  EXPECT_TRUE(waiter.wait([] { return true; }));
  EXPECT_EQ(waiter.sleeps(), 0u);
  EXPECT_FALSE(wake_worker(shared));
}

TEST(Doorbell, AWaitEndsAtItsDeadline) {
  WorkerShared shared{};
  for (int64_t spin_ns : {int64_t{0}, 10 * kMillisecond}) {
    WorkerWaiter waiter(&shared, {spin_ns, spin_ns});
    int64_t start = monotonic_ns();
    EXPECT_FALSE(waiter.wait([] { return false; }, start + 5 * kMillisecond));
    EXPECT_GE(monotonic_ns() - start, 5 * kMillisecond);
    EXPECT_FALSE(waiter.wait([] { return false; }, start));  // already over
    EXPECT_FALSE(waiter.wait([] { return false; }, -5));
    EXPECT_EQ(shared.waiting.load(), 0u);
  }
}

TEST(Doorbell, AStrayWakeUpDoesNotEndAWait) {
  WorkerShared shared{};
  std::atomic<bool> flag{false};
  std::thread waker([&] {
    for (int woken = 0; woken < 3;) woken += wake_worker(shared) ? 1 : 0;
    flag.store(true, std::memory_order_release);
    wake_worker(shared);
  });
  WorkerWaiter waiter(&shared, kNeverSpin);
  EXPECT_TRUE(waiter.wait([&] { return flag.load(std::memory_order_acquire); }));
  EXPECT_TRUE(flag.load());
  waker.join();
}

// One message at a time each way, so that every one of them may meet a sleeper: a single lost wake-up hangs here.
// The spin budget goes through none, tiny and large, which moves the moment of falling asleep about.
void ping_pong_with_sleeps(int rounds, const SpinPolicy::Options& spin) {
  struct Side {
    std::unique_ptr<Slot[]> slots{new Slot[16]};
    std::unique_ptr<ConsumerPosition> position{new ConsumerPosition{}};
    std::unique_ptr<WorkerShared> word{new WorkerShared{}};
  };
  Side a, b;
  auto run = [&](Side& in, Side& out, bool begins) {
    RingConsumer consumer(in.slots.get(), 16, in.position.get());
    RingProducer producer(out.slots.get(), 16, out.position.get());
    WorkerWaiter waiter(in.word.get(), spin);
    Slot slot;
    for (int i = 0; i < rounds; ++i) {
      if (begins) {
        ASSERT_EQ(producer.try_push(slot), PushResult::kOk);
        wake_worker(*out.word);
      }
      ASSERT_TRUE(waiter.wait([&] { return consumer.ready(); }, monotonic_ns() + 60'000 * kMillisecond))
          << "lost wake-up in round " << i;
      ASSERT_TRUE(consumer.try_pop(slot));
      if (!begins) {
        ASSERT_EQ(producer.try_push(slot), PushResult::kOk);
        wake_worker(*out.word);
      }
    }
  };
  std::thread other([&] { run(a, b, false); });
  run(b, a, true);
  other.join();
}

TEST(Doorbell, NoWakeUpIsLostWithoutSpinning) { ping_pong_with_sleeps(30'000, kNeverSpin); }
TEST(Doorbell, NoWakeUpIsLostWithAShortSpin) { ping_pong_with_sleeps(30'000, {1'000, 1'000}); }
TEST(Doorbell, NoWakeUpIsLostWithALongSpin) { ping_pong_with_sleeps(10'000, {50'000, 4'000}); }

TEST(Doorbell, SeveralWakersMakeOneSystemCallForOneSleep) {
  WorkerShared shared{};
  shared.waiting = 1;
  EXPECT_TRUE(wake_worker(shared));
  EXPECT_FALSE(wake_worker(shared));
}

TEST(Doorbell, AWakeUpCrossesProcesses) {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  struct Shared {
    WorkerShared worker;
    std::atomic<uint32_t> flag;
  };
  auto* shared = new (memory) Shared{};
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    WorkerWaiter waiter(&shared->worker, kNeverSpin);
    bool woken = waiter.wait([&] { return shared->flag.load() == 1; }, monotonic_ns() + 20'000 * kMillisecond);
    ::_exit(woken ? 0 : 1);
  }
  while (shared->worker.waiting.load() == 0) ::usleep(100);
  shared->flag = 1;
  wake_worker(shared->worker);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::munmap(memory, 4096);
}

// ---- the engine's side

struct EngineLoop {
  EngineLoop() : event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), epoll(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLET;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &interest);
  }
  int wait(int timeout_ms) {
    epoll_event event_out;
    return ::epoll_wait(epoll.get(), &event_out, 1, timeout_ms);
  }
  UniqueFd event, epoll;
};

TEST(Doorbell, AHostRingsOncePerSleepOfTheEngine) {
  EngineThreadShared shared{};
  EngineLoop loop;
  EngineSleeper sleeper(&shared);
  EngineBell first(&shared, loop.event.get()), second(&shared, loop.event.get());
  EXPECT_FALSE(first.ring());  // awake: no system call
  for (int i = 0; i < 3; ++i) {
    sleeper.announce();
    EXPECT_TRUE(first.ring());
    EXPECT_FALSE(first.ring());
    EXPECT_TRUE(second.ring());
    EXPECT_EQ(loop.wait(1000), 1);
    sleeper.awake();
    EXPECT_FALSE(first.ring());
    EXPECT_EQ(loop.wait(0), 0);  // edge-triggered: the counter is never read, and no event is left
  }
}

TEST(Doorbell, NoWakeUpOfTheEngineIsLost) {
  constexpr int kRounds = 20'000;
  EngineThreadShared engine_shared{};
  WorkerShared worker_shared{};
  EngineLoop loop;
  std::unique_ptr<Slot[]> to_engine(new Slot[16]), to_worker(new Slot[16]);
  ConsumerPosition engine_position{}, worker_position{};

  std::thread worker([&] {
    RingConsumer in(to_worker.get(), 16, &worker_position);
    RingProducer out(to_engine.get(), 16, &engine_position);
    WorkerWaiter waiter(&worker_shared, {2'000, 2'000});
    EngineBell bell(&engine_shared, loop.event.get());
    Slot slot;
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(waiter.wait([&] { return in.ready(); }, monotonic_ns() + 60'000 * kMillisecond));
      ASSERT_TRUE(in.try_pop(slot));
      ASSERT_EQ(out.try_push(slot), PushResult::kOk);
      bell.ring();
    }
  });
  RingProducer out(to_worker.get(), 16, &worker_position);
  RingConsumer in(to_engine.get(), 16, &engine_position);
  EngineSleeper sleeper(&engine_shared);
  Slot slot;
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_EQ(out.try_push(slot), PushResult::kOk);
    wake_worker(worker_shared);
    while (!in.ready()) {
      sleeper.announce();
      if (!in.ready()) {
        int events = loop.wait(60'000);
        ASSERT_EQ(events, 1) << "lost wake-up in round " << i;
      }
      sleeper.awake();
    }
    ASSERT_TRUE(in.try_pop(slot));
  }
  worker.join();
}

// ---- the policy

TEST(SpinPolicy, TheBudgetFollowsHowSoonWorkComes) {
  SpinPolicy policy({50'000, 4'000});
  for (int i = 0; i < 20; ++i) policy.waited(10'000'000);
  EXPECT_EQ(policy.budget_ns(), 0);  // work comes seldom: sleep at once
  policy.waited(1'000);
  EXPECT_EQ(policy.budget_ns(), 4'000);
  policy.waited(20'000);
  EXPECT_EQ(policy.budget_ns(), 40'000);
  policy.waited(45'000);
  EXPECT_EQ(policy.budget_ns(), 50'000);  // never over the maximum
  for (int i = 0; i < 100; ++i) policy.waited(500);
  EXPECT_LT(policy.budget_ns(), 10'000);  // work comes soon: no need for a long one
  EXPECT_GE(policy.budget_ns(), 4'000);
}

TEST(SpinPolicy, APreemptedSpinnerStopsForAWhile) {
  SpinPolicy policy({50'000, 4'000});
  EXPECT_FALSE(policy.preempted(1'000));
  EXPECT_TRUE(policy.preempted(4 * kMillisecond));
  EXPECT_EQ(policy.budget_ns(), 0);
  policy.waited(1'000);
  EXPECT_EQ(policy.budget_ns(), 0);
  for (int i = 0; i < SpinPolicy::kPreemptionPenalty; ++i) policy.waited(1'000);
  EXPECT_GT(policy.budget_ns(), 0);
}

TEST(SpinPolicy, TwoSidesOnOneCpuNeverSpin) {
  int zero[] = {0}, one[] = {1}, both[] = {0, 1};
  EXPECT_EQ(SpinPolicy::for_cpus(zero, zero).max_ns, 0);
  EXPECT_GT(SpinPolicy::for_cpus(zero, one).max_ns, 0);
  EXPECT_GT(SpinPolicy::for_cpus(both, zero).max_ns, 0);
  SpinPolicy never(SpinPolicy::for_cpus(one, one));
  never.waited(10);
  EXPECT_EQ(never.budget_ns(), 0);
}

}  // namespace
}  // namespace drover
