// ReplyQueue: which messages are copied, and when parts end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/grpc/reply_queue.h"

namespace drover::engine {
namespace {

class ReplyQueueTest : public testing::Test {
 protected:
  bool push(size_t size) {
    bytes_.emplace_back(std::make_unique<std::string>(size, 'x'));
    pieces_.emplace_back(std::make_unique<Piece>(Piece{bytes_.back()->data(), size}));
    return queue.push({pieces_.back().get(), 1}, size);
  }
  ReplyQueue queue;

 private:
  std::vector<std::unique_ptr<std::string>> bytes_;
  std::vector<std::unique_ptr<Piece>> pieces_;
};

TEST_F(ReplyQueueTest, SmallMessagesShareAPartThatIsNotYetTheBody) {
  EXPECT_TRUE(push(10));
  queue.begin();
  EXPECT_TRUE(push(20));
  EXPECT_TRUE(push(30));
  EXPECT_EQ(queue.next()->size, 15u);
  queue.produced(15);
  EXPECT_EQ(queue.next()->size, 60u);
  EXPECT_TRUE(queue.is_last());
  EXPECT_EQ(queue.memory(), 75u);
  EXPECT_FALSE(queue.sent());
  EXPECT_EQ(queue.memory(), 60u);
}

TEST_F(ReplyQueueTest, LargeMessagesArePartsByReference) {
  EXPECT_FALSE(push(ReplyQueue::kCopiedMessage + 1));
  EXPECT_TRUE(push(ReplyQueue::kCopiedMessage));
  EXPECT_EQ(queue.referenced(), 1u);
  queue.begin();
  EXPECT_FALSE(queue.produced(1).is_copy());
  EXPECT_TRUE(queue.sent());
  EXPECT_EQ(queue.referenced(), 0u);
}

TEST_F(ReplyQueueTest, AStreamHoldsOnlySoManyCopiedBytes) {
  size_t copied = 0;
  while (push(1000)) ++copied;
  EXPECT_EQ(copied, ReplyQueue::kMaxCopied / 1005);
  EXPECT_LE(queue.memory(), ReplyQueue::kMaxCopied);
  EXPECT_FALSE(push(10'000));
  EXPECT_EQ(queue.referenced(), 2u);
}

}  // namespace
}  // namespace drover::engine
