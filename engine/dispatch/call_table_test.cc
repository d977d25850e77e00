#include "engine/dispatch/call_table.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace drover::engine {
namespace {

TEST(CallTable, AnIndexIsFoundOnlyWithTheGenerationOfItsPresentCall) {
  CallTable table;
  CallState& first = table.take();
  uint32_t index = first.index, generation = first.generation;
  EXPECT_EQ(table.find(index, generation), &first);
  EXPECT_EQ(table.find(index, generation + 1), nullptr);
  table.give_back(first);
  EXPECT_EQ(table.find(index, generation), nullptr);
  CallState& second = table.take();
  EXPECT_EQ(second.index, index);  // the last that was given back, still warm
  EXPECT_EQ(table.find(index, generation), nullptr);
  EXPECT_EQ(table.find(index, second.generation), &second);
}

TEST(CallTable, NoNumberFindsWhatIsNotThere) {
  CallTable table;
  EXPECT_EQ(table.find(0, 0), nullptr);
  table.take();
  EXPECT_EQ(table.find(0xffffffff, 1), nullptr);
  EXPECT_EQ(table.find(255, 1), nullptr);
}

TEST(CallTable, StatesDoNotMoveWhenTheTableGrows) {
  CallTable table;
  std::vector<CallState*> states;
  std::set<uint32_t> indices;
  for (int i = 0; i < 1000; ++i) {
    states.push_back(&table.take());
    indices.insert(states.back()->index);
  }
  EXPECT_EQ(indices.size(), 1000u);
  for (CallState* state : states) EXPECT_EQ(table.find(state->index, state->generation), state);
  EXPECT_EQ(table.in_use(), 1000u);
}

TEST(CallTable, ABurstOfCallsLeavesNoMemoryBehindAndNoGenerationComesAgain) {
  CallTable table;
  std::vector<std::pair<uint32_t, uint32_t>> ids;
  std::vector<CallState*> calls;
  for (int i = 0; i < 20'000; ++i) calls.push_back(&table.take());
  CallState* kept = calls[100];
  for (CallState* call : calls) {
    ids.emplace_back(call->index, call->generation);
    if (call != kept) table.give_back(*call);
  }
  table.shrink();
  EXPECT_LE(table.size(), 4096u);
  EXPECT_EQ(table.find(kept->index, kept->generation), kept);
  std::set<std::pair<uint32_t, uint32_t>> seen(ids.begin(), ids.end());
  for (int i = 0; i < 20'000; ++i) {
    CallState& call = table.take();
    EXPECT_TRUE(seen.insert({call.index, call.generation}).second);
  }
}

TEST(CallTable, ABlockWithACallInItStays) {
  CallTable table;
  std::vector<CallState*> calls;
  for (int i = 0; i < 20'000; ++i) calls.push_back(&table.take());
  for (int i = 0; i + 1 < 20'000; ++i) table.give_back(*calls[static_cast<size_t>(i)]);
  const uint32_t size = table.size();
  table.shrink();
  EXPECT_EQ(table.size(), size);
  table.give_back(*calls.back());
  table.shrink();
  EXPECT_LT(table.size(), size);
}

}  // namespace
}  // namespace drover::engine
