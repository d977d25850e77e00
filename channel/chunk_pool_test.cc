#include "channel/chunk_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <thread>

namespace drover {
namespace {

Area area_of(uint32_t chunks) { return {16 * kChunkSize, chunks * kChunkSize}; }

TEST(ChunkPool, ASingleChunkComesBackLastInFirstOut) {
  ChunkPool pool(area_of(100));
  uint64_t a = pool.allocate(1), b = pool.allocate(1);
  EXPECT_EQ(a, 16 * kChunkSize);
  EXPECT_EQ(b, 17 * kChunkSize);
  pool.free(a, 1);
  pool.free(b, 1);
  EXPECT_EQ(pool.allocate(1), b);
  EXPECT_EQ(pool.allocate(1), a);
}

TEST(ChunkPool, RunsTakeTheLowestPlaceWhereTheyFit) {
  ChunkPool pool(area_of(200));
  uint64_t a = pool.allocate(70), b = pool.allocate(3), c = pool.allocate(90);
  EXPECT_EQ(b, a + 70 * kChunkSize);
  EXPECT_EQ(c, b + 3 * kChunkSize);
  pool.free(b, 3);
  EXPECT_EQ(pool.allocate(4), c + 90 * kChunkSize);
  EXPECT_EQ(pool.allocate(2), b);
  pool.free(a, 70);
  EXPECT_EQ(pool.allocate(68), a);
}

TEST(ChunkPool, AFullPoolSaysNoneAndComesBackWhole) {
  ChunkPool pool(area_of(130));
  std::vector<uint64_t> singles;
  for (uint64_t offset; (offset = pool.allocate(1)) != ChunkPool::kNone;) singles.push_back(offset);
  EXPECT_EQ(singles.size(), 130u);
  EXPECT_EQ(pool.free_chunks(), 0u);
  for (uint64_t offset : singles) pool.free(offset, 1);
  // Every chunk is free, though some of them are in the stack: the one run of all still fits.
  EXPECT_EQ(pool.allocate(130), 16 * kChunkSize);
  EXPECT_EQ(pool.allocate(1), ChunkPool::kNone);
}

TEST(ChunkPool, RequestsThatCannotBeAreRefused) {
  ChunkPool pool(area_of(10));
  EXPECT_EQ(pool.allocate(0), ChunkPool::kNone);
  EXPECT_EQ(pool.allocate(11), ChunkPool::kNone);
  EXPECT_EQ(pool.allocate(UINT32_MAX), ChunkPool::kNone);
}

TEST(ChunkPool, ARunMayBeGivenBackInParts) {
  ChunkPool pool(area_of(10));
  uint64_t run = pool.allocate(10);
  pool.free(run + 6 * kChunkSize, 4);
  pool.free(run, 6);
  EXPECT_EQ(pool.allocate(10), run);
}

TEST(ChunkPoolDeathTest, MisuseEndsTheProcess) {
  ChunkPool pool(area_of(10));
  uint64_t run = pool.allocate(4);
  pool.free(run, 4);
  EXPECT_DEATH(pool.free(run, 4), "not handed out");
  uint64_t single = pool.allocate(1);
  pool.free(single, 1);
  EXPECT_DEATH(pool.free(single, 1), "not handed out");
  EXPECT_DEATH(pool.free(0, 1), "not a run");
  EXPECT_DEATH(pool.free(16 * kChunkSize + 1, 1), "not a run");
  EXPECT_DEATH(pool.free(16 * kChunkSize, 11), "not a run");
  EXPECT_DEATH(pool.free(16 * kChunkSize, 0), "not a run");
}

// Against a map of what is out: no run overlaps another or leaves the area, the counts agree, and a run is refused
// only when the gaps say that none fits.
TEST(ChunkPool, AnyOrderOfTakingAndGivingKeepsTheBooks) {
  EXPECT_TRUE(rc::check([] {
    const auto total = *rc::gen::inRange<uint32_t>(1, 400);
    ChunkPool pool(area_of(total));
    std::map<uint64_t, uint32_t> out;  // first chunk -> chunks
    uint32_t held = 0;
    auto longest_gap = [&] {
      uint64_t at = 0, longest = 0;
      for (auto [first, chunks] : out) {
        longest = std::max(longest, first - at);
        at = first + chunks;
      }
      return std::max<uint64_t>(longest, total - at);
    };
    const auto steps = *rc::gen::container<std::vector<std::pair<bool, uint32_t>>>(
        rc::gen::pair(rc::gen::element(true, true, false), rc::gen::inRange<uint32_t>(0, 1000)));
    for (auto [take, number] : steps) {
      if (take || out.empty()) {
        uint32_t chunks = number % 3 == 0 ? 1 : 1 + number % 90;
        uint64_t gap = longest_gap();
        uint64_t offset = pool.allocate(chunks);
        RC_ASSERT((offset == ChunkPool::kNone) == (chunks > gap));
        if (offset == ChunkPool::kNone) continue;
        RC_ASSERT(offset % kChunkSize == 0u);
        uint64_t first = (offset - pool.area().offset) / kChunkSize;
        RC_ASSERT(first + chunks <= total);
        auto next = out.lower_bound(first);
        RC_ASSERT((next == out.end() || first + chunks <= next->first));
        RC_ASSERT((next == out.begin() || std::prev(next)->first + std::prev(next)->second <= first));
        out[first] = chunks;
        held += chunks;
      } else {
        auto run = std::next(out.begin(), number % out.size());
        pool.free(pool.area().offset + run->first * kChunkSize, run->second);
        held -= run->second;
        out.erase(run);
      }
      RC_ASSERT(pool.free_chunks() == total - held);
    }
  }));
}

TEST(ChunkPool, SeveralThreadsShareOneThatLocks) {
  ChunkPool pool(area_of(64), ChunkPool::Threads::kMany);
  auto work = [&](uint32_t seed) {
    for (uint32_t i = 0; i < 20'000; ++i) {
      uint32_t chunks = 1 + (i * seed) % 5;
      uint64_t run = pool.allocate(chunks);
      if (run != ChunkPool::kNone) pool.free(run, chunks);
    }
  };
  std::thread a(work, 7), b(work, 11);
  work(13);
  a.join();
  b.join();
  EXPECT_EQ(pool.free_chunks(), 64u);
  EXPECT_NE(pool.allocate(64), ChunkPool::kNone);
}

// ---- ChunkBlockSource

struct Memory {
  explicit Memory(uint32_t chunks) : bytes(new char[(16 + chunks) * kChunkSize]), pool(area_of(chunks)) {}
  std::unique_ptr<char[]> bytes;
  ChunkPool pool;
};

TEST(ChunkBlockSource, AnArenaOverAPoolGivesEverythingBack) {
  Memory memory(64);
  {
    ChunkBlockSource source(memory.pool, memory.bytes.get());
    Arena arena(source);
    for (int i = 0; i < 100; ++i) {
      auto* object = static_cast<char*>(arena.allocate(500));
      ASSERT_NE(object, nullptr);
      ASSERT_GE(object, memory.bytes.get() + 16 * kChunkSize);
      std::memset(object, i, 500);
    }
    EXPECT_LT(memory.pool.free_chunks(), 64u);
    EXPECT_GE(source.runs().size(), 2u);
  }
  EXPECT_EQ(memory.pool.free_chunks(), 64u);
}

TEST(ChunkBlockSource, TakenRunsOutliveTheArena) {
  Memory memory(64);
  RunList runs;
  {
    ChunkBlockSource source(memory.pool, memory.bytes.get());
    Arena arena(source);
    ASSERT_NE(arena.allocate(3 * kChunkSize), nullptr);
    for (int i = 0; i < 20; ++i) ASSERT_NE(arena.allocate(kChunkSize - 64), nullptr);
    runs = source.take_runs();
    EXPECT_TRUE(source.runs().empty());
  }
  uint32_t taken = 0;
  for (size_t i = 0; i < runs.size(); ++i) taken += runs[i].chunks;
  EXPECT_GT(taken, 20u);
  EXPECT_EQ(memory.pool.free_chunks(), 64u - taken);
  runs.free_all(memory.pool);
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(memory.pool.free_chunks(), 64u);
}

TEST(ChunkBlockSource, AnEmptyPoolGivesNoBlock) {
  Memory memory(2);
  ChunkBlockSource source(memory.pool, memory.bytes.get());
  Arena arena(source);
  EXPECT_EQ(arena.allocate(3 * kChunkSize), nullptr);
  EXPECT_EQ(arena.allocate(SIZE_MAX / 4), nullptr);
  EXPECT_NE(arena.allocate(kChunkSize), nullptr);
}

TEST(RunList, RunsBeyondTheInlineOnesAreKeptAndRemoved) {
  RunList list;
  for (uint64_t i = 0; i < 10; ++i) list.push({i * kChunkSize, static_cast<uint32_t>(i + 1)});
  for (uint64_t i : {3, 9, 0, 5, 4, 8, 1, 2, 7}) {
    EXPECT_EQ(list.remove(i * kChunkSize).chunks, i + 1);
    EXPECT_EQ(list.remove(i * kChunkSize).chunks, 0u);
  }
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].chunks, 7u);
}

}  // namespace
}  // namespace drover
