#include "engine/dispatch/worker_choice.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

using Found = WorkerChoice::Found;

class WorkerChoiceTest : public testing::Test {
 protected:
  HostLink& host(uint32_t workers, uint64_t rx_bytes = 0, uint32_t ring_slots = 0) {
    links_.push_back(std::make_unique<HostLink>(make_attachment(workers, {}, {}, rx_bytes, ring_slots), 0, metrics_));
    route_.targets.push_back({links_.back().get(), static_cast<uint32_t>(links_.size())});
    return *links_.back();
  }
  // How often each (host, worker) is chosen, when each choice is given a call.
  std::map<std::pair<HostLink*, uint32_t>, int> choose(const WorkerChoice& workers, int calls) {
    std::map<std::pair<HostLink*, uint32_t>, int> chosen;
    for (int i = 0; i < calls; ++i) {
      WorkerChoice::Choice choice = workers.choose(route_, nullptr, 1);
      if (choice.found != Found::kWorker) break;
      choice.link->push_call(choice.worker, CallSlot{});
      ++chosen[{choice.link, choice.worker}];
    }
    return chosen;
  }

  ThreadMetrics metrics_{0};
  std::vector<std::unique_ptr<HostLink>> links_;
  Route route_;
  const WorkerChoice round_robin_{WorkerChoice::Policy::kRoundRobin};
  const WorkerChoice least_{WorkerChoice::Policy::kLeastOutstanding};
};

TEST_F(WorkerChoiceTest, WithoutAHostThereIsNone) {
  EXPECT_EQ(round_robin_.choose(route_, nullptr, 1).found, Found::kNoHost);
  EXPECT_EQ(least_.choose(route_, nullptr, 1).found, Found::kNoHost);
}

TEST_F(WorkerChoiceTest, RoundRobinSpreadsCallsOverAllWorkersOfAllHosts) {
  HostLink &one = host(1), &two = host(3);
  auto chosen = choose(round_robin_, 40);
  ASSERT_EQ(chosen.size(), 4u);
  for (auto& [worker, count] : chosen) EXPECT_EQ(count, 10);
  EXPECT_EQ((chosen[{&one, 0}]), 10);
  EXPECT_EQ((chosen[{&two, 2}]), 10);
}

TEST_F(WorkerChoiceTest, TheMethodIsTheChosenHostsOwn) {
  host(1), host(1);
  EXPECT_EQ(round_robin_.choose(route_, nullptr, 1).method, 1u);
  EXPECT_EQ(round_robin_.choose(route_, nullptr, 1).method, 2u);
}

TEST_F(WorkerChoiceTest, LeastOutstandingPrefersTheIdleWorker) {
  HostLink& one = host(3);
  one.lane(0).outstanding = 5;
  one.lane(1).outstanding = 1;
  one.lane(2).outstanding = 4;
  auto chosen = choose(least_, 3);
  EXPECT_EQ((chosen[{&one, 1}]), 3);
}

TEST_F(WorkerChoiceTest, FullRingsArePassedOverUntilNoneHasRoom) {
  HostLink& one = host(2, 0, 16);
  for (int i = 0; i < 16; ++i) one.push_call(0, CallSlot{});
  auto chosen = choose(round_robin_, 100);
  EXPECT_EQ((chosen[{&one, 0}]), 0);
  EXPECT_EQ((chosen[{&one, 1}]), 16);
  EXPECT_EQ(round_robin_.choose(route_, nullptr, 1).found, Found::kNoRoom);
  EXPECT_EQ(least_.choose(route_, nullptr, 1).found, Found::kNoRoom);
}

TEST_F(WorkerChoiceTest, AHostWithoutTheMemoryOrThatHasFailedIsPassedOver) {
  HostLink &small = host(1, 64 << 10), &large = host(1, 1 << 20);
  uint32_t more_than_small = small.rx().total_chunks() + 1;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(round_robin_.choose(route_, nullptr, more_than_small).link, &large);
  large.fail("test");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(round_robin_.choose(route_, nullptr, 1).link, &small);
}

TEST_F(WorkerChoiceTest, ThePreferredHostIsTakenWhileItHasRoom) {
  HostLink &one = host(1), &two = host(1, 0, 16);
  for (int i = 0; i < 16; ++i) {
    WorkerChoice::Choice choice = round_robin_.choose(route_, &two, 1);
    ASSERT_EQ(choice.link, &two);
    two.push_call(choice.worker, CallSlot{});
  }
  EXPECT_EQ(round_robin_.choose(route_, &two, 1).link, &one);
}

}  // namespace
}  // namespace drover::engine
