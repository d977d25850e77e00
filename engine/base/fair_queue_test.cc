#include "engine/base/fair_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace drover::engine {
namespace {

constexpr int64_t kLong = 1'000'000'000'000;

struct Job : FairQueue::Member {
  Job(std::string name_in, int64_t step_in, int64_t work_in) : name(std::move(name_in)), step(step_in), left(work_in) {}
  std::string name;
  int64_t step;  // ns of one piece of work, the smallest
  int64_t left;  // ns
};

// Time is what the jobs spend.
class FairQueueTest : public testing::Test {
 protected:
  void run(int64_t end) {
    queue.run(
        end,
        [this](FairQueue::Member& member, int64_t until) {
          Job& job = static_cast<Job&>(member);
          do {
            now += job.step;
            job.left -= job.step;
            spent[job.name] += job.step;
          } while (now < until && job.left > 0);
          if (job.left <= 0) ended[job.name] = now;
          return job.left > 0;
        },
        [this] { return now; });
  }
  int64_t now = 0;
  FairQueue queue;
  std::map<std::string, int64_t> spent, ended;
};

TEST_F(FairQueueTest, WhatIsSmallNeverWaitsForAllOfWhatIsLarge) {
  FairQueue::Share large_share, small_share;
  Job large("large", 10'000, 50'000'000), small("small", 10'000, 10'000);
  queue.add(large, large_share);
  queue.add(small, small_share);
  run(kLong);
  EXPECT_LE(ended["small"], FairQueue::kQuantumNs + 20'000);
  EXPECT_EQ(spent["large"], 50'000'000);
  EXPECT_TRUE(queue.empty());
}

TEST_F(FairQueueTest, ManyMembersGetNoMoreThanOne) {
  FairQueue::Share many_share, one_share;
  std::vector<Job> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("many", 10'000, 1'000'000);
  for (Job& job : many) queue.add(job, many_share);
  Job one("one", 10'000, 1'000'000'000);
  queue.add(one, one_share);
  run(100'000'000);
  EXPECT_NEAR(static_cast<double>(spent["many"]), static_cast<double>(spent["one"]), 2e5);
  for (Job& job : many) queue.remove(job);
  queue.remove(one);
}

TEST_F(FairQueueTest, MembersOfAShareTakeTurns) {
  FairQueue::Share share;
  Job a("a", 10'000, 1'000'000'000), b("b", 10'000, 1'000'000'000);
  queue.add(a, share);
  queue.add(b, share);
  run(10'000'000);
  EXPECT_NEAR(static_cast<double>(spent["a"]), static_cast<double>(spent["b"]), 2e5);
  queue.remove(a);
  queue.remove(b);
}

TEST_F(FairQueueTest, WhoAsksForLessThanHisShareIsServedFirst) {
  std::vector<FairQueue::Share> shares(50);
  std::vector<Job> heavy;
  for (size_t i = 0; i < shares.size(); ++i) heavy.emplace_back("heavy", 10'000, kLong);
  for (size_t i = 0; i < shares.size(); ++i) queue.add(heavy[i], shares[i]);
  run(20'000'000);  // all have waited for a while
  FairQueue::Share light_share;
  int64_t longest = 0;
  for (int i = 0; i < 100; ++i) {  // 20 us of work every 3 ms: less than one part in 51 of the time
    Job light("light", 10'000, 20'000);
    queue.add(light, light_share);
    const int64_t began = now;
    while (light.waits()) run(now + 500'000);
    longest = std::max(longest, ended["light"] - began);
    run(began + 3'000'000);
  }
  EXPECT_LE(longest, FairQueue::kQuantumNs) << "not 50 times that";
  for (Job& job : heavy) queue.remove(job);
}

TEST_F(FairQueueTest, EverNewSharesLeaveHalfOfTheTimeToTheOldOnes) {
  FairQueue::Share old_share;
  Job old("old", 10'000, kLong);
  queue.add(old, old_share);
  run(5'000'000);
  spent.clear();
  for (int i = 0; i < 100; ++i) {
    std::vector<FairQueue::Share> shares(20);
    std::vector<Job> fresh;
    for (size_t j = 0; j < shares.size(); ++j) fresh.emplace_back("fresh", 10'000, 100'000);
    for (size_t j = 0; j < shares.size(); ++j) queue.add(fresh[j], shares[j]);
    run(now + 500'000);
    for (Job& job : fresh) queue.remove(job);
  }
  EXPECT_GE(spent["old"], 100 * 200'000);
  queue.remove(old);
}

TEST_F(FairQueueTest, PiecesThatAreTooLargeArePaidBack) {
  FairQueue::Share coarse_share, fine_share;
  Job coarse("coarse", 5'000'000, 1'000'000'000), fine("fine", 10'000, 1'000'000'000);
  queue.add(coarse, coarse_share);
  queue.add(fine, fine_share);
  run(100'000'000);
  EXPECT_NEAR(static_cast<double>(spent["coarse"]), static_cast<double>(spent["fine"]), 6e6);
  queue.remove(coarse);
  queue.remove(fine);
}

TEST_F(FairQueueTest, ADebtStaysWithAShareThatHadNothingToDoMeanwhile) {
  FairQueue::Share share, other_share;
  Job coarse("coarse", 5'000'000, 5'000'000);
  queue.add(coarse, share);
  run(kLong);
  Job again("again", 10'000, 10'000), other("other", 10'000, 1'000'000'000);
  queue.add(again, share);
  queue.add(other, other_share);
  const int64_t before = now;
  run(before + 20'000'000);
  EXPECT_GE(ended["again"] - before, 4'500'000);
  queue.remove(other);
}

TEST_F(FairQueueTest, EndsInTimeAndGoesOnWhereItWas) {
  FairQueue::Share share;
  Job job("job", 10'000, 1'000'000);
  queue.add(job, share);
  run(500'000);
  EXPECT_EQ(now, 500'000);
  EXPECT_TRUE(job.waits());
  run(500'000);
  EXPECT_EQ(now, 500'000) << "no time";
  run(kLong);
  EXPECT_EQ(now, 1'000'000);
  EXPECT_FALSE(job.waits());
}

TEST_F(FairQueueTest, AMemberMayRemoveItselfAndOthersWhileItIsServed) {
  FairQueue::Share share, other_share;
  Job a("a", 1, 1), b("b", 1, 1), c("c", 1, 1);
  queue.add(a, share);
  queue.add(b, share);
  queue.add(c, other_share);
  queue.add(a, share);  // waits already
  int served = 0;
  queue.run(
      kLong,
      [&](FairQueue::Member&, int64_t) {
        ++served;
        for (Job* job : {&a, &b, &c}) queue.remove(*job);
        return true;
      },
      [this] { return now; });
  EXPECT_EQ(served, 1);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(share.waits());
}

}  // namespace
}  // namespace drover::engine
