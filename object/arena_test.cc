#include "object/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace drover {
namespace {

TEST(Arena, HandsOutDisjointAlignedMemory) {
  Arena arena;
  std::vector<std::pair<char*, size_t>> pieces;
  for (size_t size : {1, 7, 8, 9, 100, 1000, 5000, 300000, 3}) {
    auto* memory = static_cast<char*>(arena.allocate(size));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 8, 0u);
    std::memset(memory, static_cast<int>(pieces.size() + 1), size);
    pieces.emplace_back(memory, size);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t k = 0; k < pieces[i].second; ++k) ASSERT_EQ(pieces[i].first[k], static_cast<char>(i + 1));
  }
}

TEST(Arena, UsesTheInitialBlockFirstAndAgainAfterReset) {
  alignas(8) char initial[256];
  Arena arena(heap_block_source(), initial, sizeof(initial));
  void* first = arena.allocate(64);
  EXPECT_EQ(first, initial);
  EXPECT_TRUE(arena.only_initial_block());
  EXPECT_NE(arena.allocate(4096), nullptr);
  EXPECT_FALSE(arena.only_initial_block());
  arena.reset();
  EXPECT_TRUE(arena.only_initial_block());
  EXPECT_EQ(arena.allocate(64), initial);
}

class LimitedSource final : public BlockSource {
 public:
  explicit LimitedSource(size_t limit) : left_(limit) {}
  Block allocate_block(size_t min_size) override {
    if (min_size > left_) return {};
    left_ -= min_size;
    return {::operator new(min_size), min_size};
  }
  void free_block(void* data, size_t size) override {
    left_ += size;
    ::operator delete(data);
  }
  size_t left() const { return left_; }

 private:
  size_t left_;
};

TEST(Arena, SaysNullWhenItsSourceIsExhaustedAndGivesEverythingBack) {
  LimitedSource source(4096);
  {
    Arena arena(source);
    EXPECT_NE(arena.allocate(1000), nullptr);
    EXPECT_EQ(arena.allocate(8000), nullptr);
    EXPECT_NE(arena.allocate(1000), nullptr);
  }
  EXPECT_EQ(source.left(), 4096u);
}

// Another process may read the blocks (a request in rx): they do not show where this process has its memory.
TEST(Arena, KeepsNoAddressesInItsBlocks) {
  std::vector<uint64_t> memory(8192);
  class Pieces final : public BlockSource {
   public:
    explicit Pieces(std::vector<uint64_t>& words)
        : at_(reinterpret_cast<char*>(words.data())), end_(at_ + words.size() * 8) {}
    Block allocate_block(size_t size) override {
      size = (size + 7) & ~size_t{7};
      if (size > static_cast<size_t>(end_ - at_)) return {};
      char* block = at_;
      at_ += size;
      return {block, size};
    }
    void free_block(void*, size_t) override { ++freed; }
    int freed = 0;

   private:
    char *at_, *end_;
  } source(memory);
  auto addresses = [&memory] {
    auto begin = reinterpret_cast<uint64_t>(memory.data()), end = begin + memory.size() * 8;
    return std::count_if(memory.begin(), memory.end(), [&](uint64_t word) { return word >= begin && word < end; });
  };
  {
    Arena arena(source);
    std::vector<void*> pieces;
    for (int i = 0; i < 40; ++i) pieces.push_back(arena.allocate_zeroed(600));
    for (void* piece : pieces) arena.recycle(piece, 600);
    EXPECT_EQ(addresses(), 0);
    EXPECT_EQ(arena.allocate_recycled(600), pieces.back());
    EXPECT_EQ(arena.allocate_recycled(600), pieces[38]);
  }
  EXPECT_GT(source.freed, 1);
}

TEST(Arena, UsesRecycledMemoryAgain) {
  Arena arena;
  void* memory = arena.allocate(256);
  arena.recycle(memory, 256);
  EXPECT_EQ(arena.allocate_recycled(200), memory);
  EXPECT_NE(arena.allocate_recycled(200), memory);
}

TEST(Arena, MakesOnlyItsLastAllocationLongerAndOnlyAsFarAsTheBlockGoes) {
  alignas(8) char memory[64];
  Arena arena(Arena::FixedMemory{memory, sizeof(memory)});
  auto* first = static_cast<char*>(arena.allocate(12));
  EXPECT_TRUE(arena.try_extend(first, 12, 24));
  auto* second = static_cast<char*>(arena.allocate(8));
  EXPECT_EQ(second, first + 24);
  EXPECT_FALSE(arena.try_extend(first, 24, 32));
  EXPECT_FALSE(arena.try_extend(second, 8, 48));
  EXPECT_TRUE(arena.try_extend(second, 8, 40));
  EXPECT_FALSE(arena.has_room(1, 0));
}

TEST(Arena, KnowsWhatMayBeBorrowed) {
  char memory[101];
  char* bytes = memory + 1;
  Arena arena;
  EXPECT_FALSE(arena.may_borrow(bytes, 1));
  arena.set_borrowable(bytes, 100);
  EXPECT_TRUE(arena.may_borrow(bytes, 100));
  EXPECT_TRUE(arena.may_borrow(bytes + 99, 1));
  EXPECT_FALSE(arena.may_borrow(bytes + 99, 2));
  EXPECT_FALSE(arena.may_borrow(bytes - 1, 1));
}

}  // namespace
}  // namespace drover
