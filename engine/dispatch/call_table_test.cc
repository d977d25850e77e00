#include "engine/dispatch/call_table.h"

#include <gtest/gtest.h>

#include <set>
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

}  // namespace
}  // namespace drover::engine
