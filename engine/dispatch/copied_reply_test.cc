// Replies that are copied rather than lent: in slices, for as long as their calls want them.
#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;

// A client that has half of tx in use has its further replies copied, so that the host gets its memory back.
class CopiedReplyTest : public testing::Test {
 protected:
  static constexpr size_t kSize = 24 << 20;  // takes some turns to copy
  CopiedReplyTest() {
    engine_.transport.send_at_once = false;
    answer("first");
    EXPECT_TRUE(engine_.pump_until([&] { return engine_.transport.answered(*calls_[0]); }));
    EXPECT_EQ(engine_.client->held(Resource::kLent), wire_.size());
  }
  // The host answers a new call with kSize bytes.
  Call& answer(std::string_view text, int64_t timeout_ns = 0) {
    calls_.push_back(&engine_.call(text, timeout_ns));
    host_.take();
    host_.answer(host_.calls.back(), wire_, static_cast<uint32_t>(calls_.size()));
    return *calls_.back();
  }
  // Of the call whose reply is being copied; the first one's is lent.
  size_t copied_memory() { return engine_.client->held(Resource::kMemory) / wire_.size(); }
  void end_all() {
    engine_.abandon_calls();
    EXPECT_EQ(engine_.client->held(Resource::kMemory), 0u);
    EXPECT_EQ(engine_.client->held(Resource::kLent), 0u);
    ASSERT_TRUE(engine_.pump_until([&] { return host_.take(), host_.released.size() == calls_.size(); }));
    EXPECT_EQ(engine_.dispatcher.calls(), 0u);
  }

  TestThread engine_;
  FakeHost host_{engine_, {.tx_bytes = 80 << 20}};
  const std::string wire_ = echo_wire(std::string(kSize, 'r'));
  std::vector<Call*> calls_;
};

TEST_F(CopiedReplyTest, IsCopiedInSlicesBetweenWhichOthersAreServed) {
  FakeHost good(engine_, {.paths = {"/test.Good/Say"}});
  Call& copied = answer("second");
  int turns = 0, served = 0;
  for (; !engine_.transport.answered(copied) && turns < 10'000; ++turns) {
    Call& fine = engine_.call("fine", 0, "/test.Good/Say");
    good.serve();
    engine_.pump();
    served += engine_.transport.answered(fine);
  }
  EXPECT_GE(turns, 3);
  EXPECT_GE(served, turns / 2) << "a turn in which the thread was not running may be missed";
  EXPECT_EQ(engine_.transport.answer(copied).code, StatusCode::kOk);
  EXPECT_EQ(engine_.transport.answer(copied).body, wire_);
  EXPECT_EQ(copied_memory(), 1u);
  EXPECT_TRUE(engine_.pump_until([&] { return host_.take(), !host_.released.empty(); }));
  EXPECT_EQ(host_.released, std::vector<uint32_t>{2}) << "the first one's is lent";
  end_all();
}

TEST_F(CopiedReplyTest, OfAnotherCallGoesOutBehindIt) {
  Call& second = answer("second");
  Call& third = answer("third");
  ASSERT_TRUE(engine_.pump_until([&] { return engine_.transport.answered(third); }));
  EXPECT_TRUE(engine_.transport.answered(second));
  EXPECT_EQ(engine_.transport.answer(third).body, wire_);
  end_all();
}

TEST_F(CopiedReplyTest, WhoseCallEndsIsGivenUpAndItsMemoryReleased) {
  for (bool abandon : {true, false}) {
    Call& copied = answer("x", abandon ? 0 : 60'000 * kMs);
    engine_.pump();
    ASSERT_FALSE(engine_.transport.answered(copied));
    EXPECT_EQ(copied_memory(), 1u);
    if (abandon) {
      engine_.dispatcher.abandon(copied);
    } else {
      engine_.dispatcher.poll(copied.deadline_ns + kMs);
      engine_.pump();
      ASSERT_TRUE(engine_.transport.answered(copied));
      EXPECT_EQ(engine_.transport.answer(copied).code, StatusCode::kDeadlineExceeded);
      engine_.dispatcher.reply_sent(copied);
    }
    engine_.pump();
    EXPECT_EQ(copied_memory(), 0u);
  }
  end_all();
}

TEST_F(CopiedReplyTest, OfAHostThatDiesMeanwhileEndsInUnavailable) {
  Call& copied = answer("x");
  engine_.pump();
  ASSERT_FALSE(engine_.transport.answered(copied));
  host_.die();
  ASSERT_TRUE(engine_.transport.answered(copied));
  EXPECT_EQ(engine_.transport.answer(copied).code, StatusCode::kUnavailable);
  engine_.abandon_calls();
  EXPECT_EQ(engine_.client->held(Resource::kMemory), 0u);
  EXPECT_EQ(engine_.events.let_go, 1);
}

}  // namespace
}  // namespace drover::engine
