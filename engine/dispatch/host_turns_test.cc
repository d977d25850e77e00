#include "engine/dispatch/host_turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover::engine {
namespace {

struct FakeLink {
  bool waits_for_service() const { return work_ns > 0; }
  int64_t credit_ns = 0;
  int64_t work_ns = 0;   // left
  int64_t piece_ns = 0;  // what it cannot be stopped in
  int64_t served_ns = 0;
};

class HostTurnsTest : public testing::Test {
 protected:
  FakeLink& host(int64_t work_ns, int64_t piece_ns) {
    links_.push_back(std::make_unique<FakeLink>());
    links_.back()->work_ns = work_ns;
    links_.back()->piece_ns = piece_ns;
    return *links_.back();
  }
  bool turn() {
    now_ns_ = 0;
    return turns_.run<FakeLink>(links_, [this](FakeLink& link, int64_t budget_ns) {
      Served served;
      while (link.work_ns > 0 && served.spent_ns < budget_ns) {
        int64_t piece = std::min(link.work_ns, link.piece_ns);
        link.work_ns -= piece;
        served.spent_ns += piece;
        served.did = true;
      }
      link.served_ns += served.spent_ns;
      now_ns_ += served.spent_ns;
      served.more = link.work_ns > 0;
      return served;
    });
  }

  HostTurns turns_;
  std::vector<std::unique_ptr<FakeLink>> links_;
  int64_t now_ns_ = 0;  // since the turn began
};

constexpr int64_t kEndless = int64_t{1} << 60;

TEST_F(HostTurnsTest, WithoutWorkNothingIsServed) {
  host(0, 1000);
  EXPECT_FALSE(turn());
}

TEST_F(HostTurnsTest, AHostWithMoreThanItsTimeGoesOnInTheNextTurn) {
  FakeLink& one = host(10 * (kQuantumNs + kExtraNs), 1000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_GT(one.work_ns, 0);
    EXPECT_TRUE(turn());
  }
  EXPECT_EQ(one.work_ns, 0);
}

TEST_F(HostTurnsTest, WhoAsksForLittleIsServedEveryTurnBesideManyThatAskForAll) {
  FakeLink& modest = host(0, 5000);
  for (int i = 0; i < 20; ++i) host(kEndless, 5000);
  for (int i = 0; i < 100; ++i) {
    modest.work_ns = 5000;
    turn();
    if (i > 2) EXPECT_EQ(modest.work_ns, 0) << "turn " << i;
    EXPECT_LE(now_ns_, kMostTurnNs + kQuantumNs + kExtraNs + 10'000);
  }
}

TEST_F(HostTurnsTest, WhoAlwaysAsksForMoreSharesEquallyWhereverItStandsInTheList) {
  for (int i = 0; i < 5; ++i) host(kEndless, 5000);
  for (int i = 0; i < 1000; ++i) turn();
  for (const auto& link : links_) {
    EXPECT_NEAR(static_cast<double>(link->served_ns), static_cast<double>(links_[0]->served_ns),
                0.02 * static_cast<double>(links_[0]->served_ns));
  }
}

TEST_F(HostTurnsTest, LargePiecesArePaidBackByTurnsInWhichTheHostIsPassedOver) {
  FakeLink& greedy = host(kEndless, 3'000'000);
  FakeLink& other = host(kEndless, 1000);
  for (int i = 0; i < 2000; ++i) turn();
  // Both have their quantum each turn, and every other extra time; one of them in pieces of 3 ms.
  EXPECT_LT(greedy.served_ns, 6 * other.served_ns);
  EXPECT_GE(greedy.credit_ns, -kMostDebtNs);
}

TEST(TurnBudget, AFewSlotsCountWithoutAClockAndALongOneEndsIt) {
  TurnBudget budget(1'000'000);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(budget.go_on());
  EXPECT_EQ(budget.spent_ns(), 7 * kSlotNs);
  EXPECT_FALSE(budget.go_on(monotonic_ns() - 2'000'000));
  EXPECT_GE(budget.spent_ns(), 2'000'000);
}

}  // namespace
}  // namespace drover::engine
