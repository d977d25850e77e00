#include "engine/dispatch/long_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace drover::engine {
namespace {

// Pieces of these sizes, copied by steps whose time has come already.
void expect_copied(const std::vector<size_t>& sizes) {
  std::vector<std::string> parts;
  std::vector<Piece> pieces;
  std::string all;
  for (size_t size : sizes) parts.emplace_back(size, static_cast<char>('a' + parts.size() % 26));
  for (const std::string& part : parts) {
    pieces.push_back({part.data(), part.size()});
    all += part;
  }
  std::string to(all.size(), 0);
  LongCopy copy({}, pieces, to.data());
  size_t steps = 1;
  while (!copy.step(0)) {
    ASSERT_EQ(to.compare(0, steps * LongCopy::kSlice, all, 0, steps * LongCopy::kSlice), 0);
    ASSERT_EQ(to[steps * LongCopy::kSlice], 0) << "one slice a step";
    ++steps;
  }
  EXPECT_EQ(steps, std::max<size_t>(1, (all.size() + LongCopy::kSlice - 1) / LongCopy::kSlice));
  EXPECT_EQ(to, all);
}

TEST(LongCopy, EachStepCopiesASliceWhereverPiecesEnd) {
  expect_copied({1});
  expect_copied({LongCopy::kSlice});
  expect_copied({LongCopy::kSlice + 1});
  expect_copied({3 * LongCopy::kSlice, 5, 7, 2 * LongCopy::kSlice - 12});
  expect_copied(std::vector<size_t>(1000, 333));
}

TEST(LongCopy, WithTimeLeftOneStepCopiesAll) {
  std::string bytes(100 * LongCopy::kSlice, 'x'), to(bytes.size(), 0);
  std::vector<Piece> pieces = {{bytes.data(), bytes.size()}};
  EXPECT_TRUE(LongCopy({}, pieces, to.data()).step(INT64_MAX));
  EXPECT_EQ(to, bytes);
}

}  // namespace
}  // namespace drover::engine
