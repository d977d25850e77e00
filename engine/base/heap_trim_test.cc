#include "engine/base/heap_trim.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace drover::engine {
namespace {

// A sanitizer has a heap of its own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DROVER_OWN_HEAP 1
#endif
#endif

constexpr size_t kMiB = 1 << 20;
constexpr int64_t kSecond = 1'000'000'000;

TEST(TrimTimes, LeavesSmallGrowthAlone) {
  TrimTimes times;
  for (int second = 0; second < 100; ++second) {
    EXPECT_FALSE(times.due(10 * kMiB + (second % 8) * kMiB, false, second * kSecond)) << second;
  }
}

TEST(TrimTimes, TrimsWhatABurstLeavesAndAgainAsItsTimeOutsCome) {
  TrimTimes times;
  EXPECT_FALSE(times.due(2 * kMiB, false, 0));
  std::vector<int> trims;
  for (int second = 1; second < 60; ++second) {
    if (!times.due(24 * kMiB, false, second * kSecond)) continue;
    trims.push_back(second);
    times.trimmed(24 * kMiB);  // all of it is still held
  }
  EXPECT_EQ(trims, (std::vector{1, 3, 7}));
}

TEST(TrimTimes, TakesWhatIsLeftAfterATrimAsTheLeast) {
  TrimTimes times;
  EXPECT_TRUE(times.due(100 * kMiB, true, 0));
  times.trimmed(100 * kMiB);
  EXPECT_FALSE(times.due(112 * kMiB, false, kSecond));
  EXPECT_TRUE(times.due(113 * kMiB, false, kSecond)) << "an eighth";
  times.trimmed(30 * kMiB);
  EXPECT_FALSE(times.due(20 * kMiB, false, kSecond));
  EXPECT_TRUE(times.due(28 * kMiB, false, kSecond)) << "grown from 20";
}

TEST(TrimTimes, TrimsWhereItIsWanted) {
  TrimTimes times;
  EXPECT_TRUE(times.due(0, true, 0));
  EXPECT_FALSE(times.due(0, false, kSecond));
}

#if !defined(DROVER_OWN_HEAP) && !defined(__SANITIZE_ADDRESS__)
// Small blocks, all freed but the last: without a trim they stay, below the top of the heap.
TEST(HeapTrim, GivesBackWhatABurstLeft) {
  HeapTrim trim;
  trim.look(0);
  const size_t before = trim.resident();
  std::vector<std::unique_ptr<char[]>> blocks(20'000);
  for (auto& block : blocks) block = std::make_unique<char[]>(2'000);
  std::unique_ptr<char[]> last = std::move(blocks.back());
  const size_t full = trim.resident();
  ASSERT_GT(full, before + 30 * kMiB);
  blocks.clear();
  trim.look(kSecond);
  EXPECT_LT(trim.resident(), before + 8 * kMiB);
}
#endif

}  // namespace
}  // namespace drover::engine
