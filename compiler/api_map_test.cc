// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// Map fields: the accessors and the members of Map.
#include <google/protobuf/arena.h>
#include <google/protobuf/map.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/api_testing.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

using drover_test::three::Everything;
namespace three = ::drover_test::three;

std::map<std::string, int32_t> counts_of(const Everything& m) {
  std::map<std::string, int32_t> counts;
  for (const auto& [key, value] : m.counts()) counts[key] = value;
  return counts;
}
using Counts = std::map<std::string, int32_t>;

TEST(ApiMap, IsReadByKey) {
  Everything m;
  (*m.mutable_counts())["one"] = 1;
  (*m.mutable_counts())["two"] = 2;
  const auto& counts = m.counts();
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_FALSE(counts.empty());
  EXPECT_EQ(m.counts_size(), 2);
  EXPECT_EQ(counts.at("one"), 1);
  EXPECT_EQ(counts.count("two"), 1u);
  EXPECT_EQ(counts.count("three"), 0u);
  EXPECT_TRUE(counts.contains("one"));
  EXPECT_FALSE(counts.contains(std::string("three")));
  auto found = counts.find("two");
  ASSERT_NE(found, counts.end());
  EXPECT_EQ(found->first, "two");
  EXPECT_EQ(found->second, 2);
  EXPECT_EQ(counts.find("three"), counts.end());
  auto range = counts.equal_range("one");
  ASSERT_NE(range.first, range.second);
  EXPECT_EQ(range.first->second, 1);
  EXPECT_EQ(++range.first, range.second);
  EXPECT_EQ(counts.equal_range("none").first, counts.end());
  m.clear_counts();
  EXPECT_EQ(m.counts_size(), 0);
  EXPECT_TRUE(m.counts().empty());
}

TEST(ApiMap, IsWalkedInEveryWay) {
  Everything m;
  for (int i = 0; i < 20; ++i) (*m.mutable_by_i32())[i] = i * i;
  int sum = 0;
  for (const auto& [key, value] : m.by_i32()) sum += key + value;
  EXPECT_EQ(sum, 190 + 2470);
  for (auto& [key, value] : *m.mutable_by_i32()) value = key;
  for (auto& entry : *m.mutable_by_i32()) entry.second += 1;
  sum = 0;
  for (const auto& entry : m.by_i32()) sum += entry.second - entry.first;
  EXPECT_EQ(sum, 20);
  sum = 0;
  for (auto it = m.by_i32().begin(); it != m.by_i32().end(); ++it) sum += it->second;
  for (auto it = m.mutable_by_i32()->begin(); it != m.mutable_by_i32()->end(); it++) (*it).second = 0;
  EXPECT_EQ(sum, 210);
  EXPECT_EQ(std::count_if(m.by_i32().begin(), m.by_i32().end(), [](const auto& e) { return e.second == 0; }), 20);
  auto largest = std::max_element(m.by_i32().begin(), m.by_i32().end(),
                                  [](const auto& a, const auto& b) { return a.first < b.first; });
  EXPECT_EQ(largest->first, 19);
  std::map<int32_t, int32_t> copied(m.by_i32().begin(), m.by_i32().end());
  EXPECT_EQ(copied.size(), 20u);
  std::vector<std::pair<int32_t, int32_t>> listed(m.by_i32().begin(), m.by_i32().end());
  EXPECT_EQ(listed.size(), 20u);
  for (google::protobuf::Map<int32_t, int32_t>::const_iterator it = m.by_i32().cbegin(); it != m.by_i32().cend();
       ++it) {
    EXPECT_LT(it->first, 20);
  }
}

TEST(ApiMap, TakesEntriesInEveryWay) {
  Everything m;
  auto* counts = m.mutable_counts();
  EXPECT_TRUE(counts->insert({"a", 1}).second);
  EXPECT_FALSE(counts->insert({"a", 2}).second);
  EXPECT_EQ(counts->insert({"a", 2}).first->second, 1);
  EXPECT_TRUE(counts->insert({std::string("b"), 2}).second);
  EXPECT_TRUE(counts->emplace(std::string("c"), 3).second);
  EXPECT_TRUE(counts->emplace("d", 4).second);
  EXPECT_FALSE(counts->emplace("d", 5).second);
  EXPECT_TRUE(counts->try_emplace("e", 5).second);
  EXPECT_TRUE(counts->try_emplace("zero").second);
  counts->insert({{"f", 6}, {"g", 7}});
  Counts more = {{"g", 70}, {"h", 8}};
  counts->insert(more.begin(), more.end());
  using Value = google::protobuf::Map<std::string, int32_t>::value_type;
  EXPECT_TRUE(counts->insert(Value("i", 9)).second);
  (*counts)["j"] += 10;
  counts->at("a") = 100;
  EXPECT_EQ(counts_of(m), (Counts{{"a", 100},
                                  {"b", 2},
                                  {"c", 3},
                                  {"d", 4},
                                  {"e", 5},
                                  {"f", 6},
                                  {"g", 7},
                                  {"h", 8},
                                  {"i", 9},
                                  {"j", 10},
                                  {"zero", 0}}));
}

TEST(ApiMap, HoldsStringsAndMessages) {
  Everything m;
  (*m.mutable_by_i64())[5] = "five";
  (*m.mutable_by_i64())[5] += "!";
  m.mutable_by_i64()->at(5).append("?");
  EXPECT_TRUE(m.mutable_by_i64()->insert({6, "six"}).second);
  EXPECT_EQ(m.by_i64().at(5), "five!?");
  EXPECT_EQ(m.by_i64().at(6), "six");
  (*m.mutable_by_text())["inner"].set_id(3);
  Everything::Inner inner;
  inner.set_note("copied");
  (*m.mutable_by_text())["copy"] = inner;
  EXPECT_TRUE(m.mutable_by_text()->insert({"inserted", inner}).second);
  for (auto& [key, value] : *m.mutable_by_text()) value.set_id(7);
  Everything copy;
  ASSERT_TRUE(copy.ParseFromString(m.SerializeAsString()));
  EXPECT_EQ(copy.by_text().at("inner").id(), 7);
  EXPECT_EQ(copy.by_text().at("inserted").note(), "copied");
  EXPECT_EQ(copy.by_text().find("copy")->second.note(), "copied");
  (*m.mutable_by_u32())[1] = true;
  (*m.mutable_by_flag())[false] = "no";
  (*m.mutable_by_f64())[8] = three::COLOR_DARK;
  EXPECT_TRUE(m.by_u32().at(1));
  EXPECT_EQ(m.by_flag().at(false), "no");
  three::Color color = m.by_f64().at(8);
  EXPECT_EQ(color, three::COLOR_DARK);
}

TEST(ApiMap, GivesUpEntriesInEveryWay) {
  Everything m;
  auto* numbers = m.mutable_by_i32();
  for (int i = 0; i < 100; ++i) (*numbers)[i] = i;
  EXPECT_EQ(numbers->erase(50), 1u);
  EXPECT_EQ(numbers->erase(50), 0u);
  numbers->erase(numbers->find(60));
  EXPECT_EQ(numbers->size(), 98u);
  for (auto it = numbers->begin(); it != numbers->end();) {
    if (it->first % 2 == 0) {
      it = numbers->erase(it);
    } else {
      ++it;
    }
  }
  EXPECT_EQ(numbers->size(), 50u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(numbers->contains(i), i % 2 == 1) << i;
  numbers->erase(numbers->begin(), numbers->end());
  EXPECT_TRUE(numbers->empty());
  (*numbers)[1] = 1;
  numbers->clear();
  EXPECT_EQ(m.by_i32_size(), 0);
}

TEST(ApiMap, CopiesAndSwaps) {
  Everything a, b;
  for (int i = 0; i < 20; ++i) (*a.mutable_counts())[std::to_string(i)] = i;
  (*b.mutable_counts())["b"] = 1;
  b.mutable_counts()->swap(*a.mutable_counts());
  EXPECT_EQ(counts_of(a), (Counts{{"b", 1}}));
  EXPECT_EQ(b.counts().size(), 20u);
  EXPECT_EQ(b.counts().at("19"), 19);
  *a.mutable_counts() = b.counts();
  EXPECT_EQ(counts_of(a), counts_of(b));
  google::protobuf::Arena arena;
  auto* c = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  auto* d = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  *c->mutable_counts() = b.counts();
  (*d->mutable_counts())["d"] = 4;
  c->mutable_counts()->swap(*d->mutable_counts());
  EXPECT_EQ(counts_of(*c), (Counts{{"d", 4}}));
  EXPECT_EQ(counts_of(*d), counts_of(b));
  (*d->mutable_counts())["more"] = 5;
  EXPECT_EQ(d->counts().at("more"), 5);
  EXPECT_EQ(d->counts().at("7"), 7);
  Everything merged = a;
  merged.MergeFrom(*c);
  EXPECT_EQ(merged.counts().size(), 21u);
}

}  // namespace
