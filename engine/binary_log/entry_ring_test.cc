#include "engine/binary_log/entry_ring.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "binlog/log_reader.h"

namespace drover::engine::binary_log {
namespace {

bool push(EntryRing& ring, std::string_view text) {
  const Piece pieces[] = {{text.data(), text.size() / 2},
                          {text.data() + text.size() / 2, text.size() - text.size() / 2}};
  return ring.push(pieces);
}

// The entries of what pop() gives.
std::vector<std::string> entries_of(std::string_view bytes) {
  std::vector<std::string> found;
  binlog::LogReader reader([&](char* to, size_t size) {
    const size_t n = bytes.copy(to, size);
    bytes.remove_prefix(n);
    return static_cast<long>(n);
  });
  for (std::string_view entry; reader.next(&entry);) found.emplace_back(entry);
  EXPECT_EQ(reader.message(), "");
  return found;
}

TEST(EntryRing, GivesBackWhatWasPushedInOrder) {
  EntryRing ring(100);
  std::mt19937 random(1);
  int next = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> pushed;
    for (size_t room = 100; true;) {
      std::string text = std::to_string(next++) + std::string(random() % 20, 'x');
      const bool fits = text.size() + 4 <= room;
      ASSERT_EQ(push(ring, text), fits);
      if (!fits) break;
      room -= text.size() + 4;
      pushed.push_back(text);
    }
    EXPECT_GT(ring.waiting(), 0u);
    std::string out;
    EXPECT_EQ(ring.pop(SIZE_MAX, &out), pushed.size());
    ASSERT_EQ(entries_of(out), pushed);
    EXPECT_EQ(ring.waiting(), 0u);
  }
}

TEST(EntryRing, RefusesWhatHasNoRoomAndTakesWhatHas) {
  EntryRing ring(32);
  EXPECT_FALSE(push(ring, std::string(29, 'a')));
  EXPECT_TRUE(push(ring, std::string(28, 'b')));
  EXPECT_FALSE(push(ring, "c"));
  std::string out;
  EXPECT_EQ(ring.pop(1, &out), 1u);
  EXPECT_TRUE(push(ring, "d"));
}

TEST(EntryRing, GivesAboutAsMuchAsIsAsked) {
  EntryRing ring(1000);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(push(ring, "0123456789"));
  std::string out;
  EXPECT_EQ(ring.pop(1, &out), 1u);
  out.clear();
  EXPECT_EQ(ring.pop(30, &out), 3u);
  out.clear();
  EXPECT_EQ(ring.pop(SIZE_MAX, &out), 6u);
  EXPECT_EQ(ring.pop(SIZE_MAX, &out), 0u);
}

TEST(EntryRing, OneThreadPushesWhileAnotherPops) {
  constexpr int kEntries = 100'000;
  EntryRing ring(1 << 10);
  std::thread pushing([&] {
    for (int i = 0; i < kEntries; ++i) {
      const std::string text = std::to_string(i);
      while (!push(ring, text)) std::this_thread::yield();
    }
  });
  int next = 0;
  while (next < kEntries) {
    std::string out;
    if (ring.pop(512, &out) == 0) std::this_thread::yield();
    for (const std::string& text : entries_of(out)) ASSERT_EQ(text, std::to_string(next++));
  }
  pushing.join();
}

}  // namespace
}  // namespace drover::engine::binary_log
