#include "engine/base/errands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace drover::engine {
namespace {

using namespace std::chrono_literals;

TEST(Errands, WorkThatReturnsIsDone) {
  Errands errands(10s);
  int made = 0;
  EXPECT_EQ(errands.run([&made] { made = 7; }), Errands::Outcome::kDone);
  EXPECT_EQ(made, 7);
  EXPECT_EQ(errands.late(), 0u);
}

TEST(Errands, WorkThatDoesNotReturnIsLateAndCountedUntilItDoes) {
  Errands errands(1ms);
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future();
  for (uint32_t i = 0; i < Errands::kMostLate; ++i) {
    EXPECT_EQ(errands.run([answered] { answered.wait(); }), Errands::Outcome::kLate);
  }
  EXPECT_EQ(errands.late(), Errands::kMostLate);
  bool begun = false;
  EXPECT_EQ(errands.run([&begun] { begun = true; }), Errands::Outcome::kTooMany);
  EXPECT_FALSE(begun);
  answer.set_value();
  for (int i = 0; i < 5000 && errands.late() != 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(errands.late(), 0u);
}

TEST(Errands, LateWorkOutlivesItsErrands) {
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future();
  auto ended = std::make_shared<std::promise<void>>();
  {
    Errands errands(1ms);
    EXPECT_EQ(errands.run([answered, ended] { answered.wait(), ended->set_value(); }), Errands::Outcome::kLate);
  }
  answer.set_value();
  EXPECT_EQ(ended->get_future().wait_for(10s), std::future_status::ready);
}

}  // namespace
}  // namespace drover::engine
