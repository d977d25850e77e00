#include "sim/platform/inbox.h"

#include <gtest/gtest.h>

namespace drover::sim {
namespace {

LinkConfig sram() {
  LinkConfig config;
  config.one_way = 4 * kNanosecond;
  config.bandwidth = 16e9;
  return config;
}

TEST(Inbox, AnswersWhatIsThereAndNothingElse) {
  Inbox inbox(sram(), 4096);
  Link::Read read{};
  EXPECT_FALSE(inbox.read(0, 4096, 64, &read));
  std::vector<Time>* lines = inbox.reserve(1, 4096, 100);
  ASSERT_NE(lines, nullptr);
  ASSERT_EQ(lines->size(), 2u);
  *lines = {10, 20};
  Time now = 1000 * kNanosecond;
  ASSERT_TRUE(inbox.read(now, 4096, 128, &read));
  EXPECT_EQ(read.first, now + 8 * kNanosecond);
  EXPECT_EQ(read.done, now + 16 * kNanosecond);
  EXPECT_FALSE(inbox.read(now, 4096, 129, &read));  // goes on behind it
  EXPECT_FALSE(inbox.read(now, 4095, 2, &read));
  inbox.release(1);
  EXPECT_FALSE(inbox.read(now, 4096, 64, &read));
}

TEST(Inbox, BytesAreNotThereBeforeTheyCome) {
  Inbox inbox(sram(), 4096);
  std::vector<Time>* lines = inbox.reserve(1, 0, 192);
  *lines = {700 * kNanosecond, 710 * kNanosecond, 720 * kNanosecond};
  Link::Read read{};
  ASSERT_TRUE(inbox.read(0, 64, 128, &read));
  EXPECT_EQ(read.first, 710 * kNanosecond);
  EXPECT_EQ(read.done, 720 * kNanosecond);
}

TEST(Inbox, HasRoomForItsSizeUntilItsOwnersAreDone) {
  Inbox inbox(sram(), 256);
  EXPECT_NE(inbox.reserve(1, 0, 65), nullptr);
  EXPECT_EQ(inbox.free_bytes(), 128u);
  EXPECT_EQ(inbox.reserve(2, 4096, 129), nullptr);
  EXPECT_NE(inbox.reserve(2, 4096, 128), nullptr);
  EXPECT_EQ(inbox.free_bytes(), 0u);
  inbox.release(1);
  EXPECT_EQ(inbox.free_bytes(), 128u);
  Link::Read read{};
  EXPECT_TRUE(inbox.read(0, 4096, 64, &read));
}

}  // namespace
}  // namespace drover::sim
