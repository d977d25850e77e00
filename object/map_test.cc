#include "object/map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "object/folded_product.h"

namespace drover {
namespace {

TEST(Map, HashesTheSameWhereThereIsNoWideMultiplication) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    uint64_t a = random() >> (i % 64), b = random() >> (i / 64 % 64);
    ASSERT_EQ(folded_product_by_words(a, b), folded_product(a, b)) << a << " * " << b;
  }
  EXPECT_EQ(folded_product_by_words(UINT64_MAX, UINT64_MAX), (UINT64_MAX - 1) ^ 1);
}

template <typename K, typename V>
struct Holder {
  OwnerWord owner = 0;
  int64_t unknown = 0;
  Map<K, V> map;
  ~Holder() {
    if (owner & kOwnsArena) delete reinterpret_cast<Arena*>(owner & ~kOwnsArena);
  }
  Map<K, V>& mutable_map() {
    map.note_owner(&owner);
    return map;
  }
};

TEST(Map, AgreesWithStdMapOverRandomOperations) {
  Holder<int32_t, int64_t> holder;
  auto& map = holder.mutable_map();
  std::map<int32_t, int64_t> model;
  std::mt19937 random(7);
  for (int step = 0; step < 5000; ++step) {
    int32_t key = static_cast<int32_t>(random() % 300) - 150;
    if (random() % 4 == 0) {
      EXPECT_EQ(map.erase(key), model.erase(key));
    } else {
      map[key] = step;
      model[key] = step;
    }
    ASSERT_EQ(static_cast<size_t>(map.size()), model.size());
  }
  for (const auto& [key, value] : model) EXPECT_EQ(map.at(key), value);
  size_t seen = 0;
  for (const auto& [key, value] : std::as_const(map)) {
    EXPECT_EQ(model.at(key), value);
    ++seen;
  }
  EXPECT_EQ(seen, model.size());
}

TEST(Map, HoldsStringsByStringKeys) {
  Holder<String, String> holder;
  auto& map = holder.mutable_map();
  for (int i = 0; i < 100; ++i) map["key" + std::to_string(i)] = std::to_string(i);
  map["key7"].append("seven");
  const auto& read = std::as_const(map);
  EXPECT_EQ(read.at("key7"), "7seven");
  EXPECT_EQ(read.find("key99")->second, "99");
  EXPECT_FALSE(read.contains("key100"));
  EXPECT_EQ(read.count("key0"), 1u);
  EXPECT_THROW(read.at("nope"), std::out_of_range);
  EXPECT_FALSE(map.insert(std::pair<std::string, std::string>("key7", "x")).second);
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_FALSE(map.contains("key7"));
  map["again"] = "yes";
  EXPECT_EQ(map.at("again"), "yes");
}

TEST(Map, BuildsItsIndexOverEntriesThatCameWithoutOne) {
  Holder<int32_t, int32_t> full, copy;
  for (int32_t i = 0; i < 100; ++i) full.mutable_map()[i] = i * i;
  Arena arena;
  auto& entries = copy.map.entries();
  ASSERT_TRUE(entries.reserve_in(&arena, 100, sizeof(OffsetPtr<void>), RepeatedBase::Elements::kPointers));
  for (uint32_t i = 0; i < 100; ++i) static_cast<OffsetPtr<void>*>(entries.raw_data())[i].set(full.map.entry(i));
  entries.set_raw_size(100);
  copy.mutable_map()[100] = 10000;
  for (int32_t i = 0; i <= 100; ++i) EXPECT_EQ(copy.map.at(i), i * i);
}

TEST(Map, LaysEntriesOutAsTheFormatSays) {
  using ByteInt = MapEntryLayout<bool, int32_t>;
  EXPECT_EQ(ByteInt::kValueOffset, 16u);
  EXPECT_EQ(ByteInt::kKeyOffset, 20u);
  EXPECT_EQ(ByteInt::kSize, 24u);
  using StringInt = MapEntryLayout<String, int32_t>;
  EXPECT_EQ(StringInt::kKeyOffset, 16u);
  EXPECT_EQ(StringInt::kValueOffset, 32u);
  EXPECT_EQ(StringInt::kSize, 40u);
  using IntString = MapEntryLayout<int32_t, String>;
  EXPECT_EQ(IntString::kValueOffset, 16u);
  EXPECT_EQ(IntString::kKeyOffset, 32u);
}

TEST(Map, KeepsItsIndexThroughErasesOfEveryPattern) {
  Holder<String, int32_t> holder;
  auto& map = holder.mutable_map();
  std::map<std::string, int32_t> model;
  std::mt19937 random(11);
  for (int step = 0; step < 20000; ++step) {
    std::string key = "key " + std::to_string(random() % 500);
    // It grows to a few hundred entries, then shrinks to zero, repeatedly.
    bool shrink = step / 1000 % 2 == 1;
    if (random() % 8 < (shrink ? 7u : 2u)) {
      ASSERT_EQ(map.erase(key), model.erase(key));
    } else {
      map[key] = model[key] = step;
    }
    if (step % 50 != 0) continue;
    ASSERT_EQ(map.size(), model.size());
    for (const auto& [text, number] : model) ASSERT_EQ(map.at(text), number);
    for (const auto& [text, number] : map) ASSERT_EQ(model.at(text), number);
  }
}

// If an erase took time linear in the map's size, this would take many minutes.
TEST(Map, ErasesFromALargeMapAtTheSameCost) {
  Holder<int32_t, int32_t> holder;
  auto& map = holder.mutable_map();
  constexpr int32_t kCount = 300'000;
  for (int32_t i = 0; i < kCount; ++i) map[i] = i;
  for (int32_t i = 0; i < kCount; i += 2) ASSERT_EQ(map.erase(i), 1u);
  for (int32_t i = 0; i < kCount; ++i) ASSERT_EQ(map.contains(i), i % 2 == 1);
  for (int32_t i = kCount - 1; i > 0; i -= 2) ASSERT_EQ(map.erase(i), 1u);
  EXPECT_TRUE(map.empty());
}

TEST(Map, UsesTheMemoryOfErasedEntriesAgain) {
  Holder<String, String> holder;
  auto& map = holder.mutable_map();
  size_t settled = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 50; ++i) map["a key of some length " + std::to_string(i)] = std::string(100, 'v');
    if (round % 2 == 0) {
      map.clear();
    } else {
      for (int i = 0; i < 50; ++i) map.erase("a key of some length " + std::to_string(i));
    }
    if (round == 20) settled = map.arena()->space_allocated();
  }
  EXPECT_EQ(map.arena()->space_allocated(), settled);
}

TEST(Map, TakesPairsOfAnyKind) {
  Holder<String, int32_t> holder;
  auto& map = holder.mutable_map();
  EXPECT_TRUE(map.insert(std::make_pair("a", 1)).second);
  std::pair<const std::string, int32_t> pair("b", 2);
  EXPECT_TRUE(map.insert(pair).second);
  EXPECT_TRUE(map.insert_or_assign("c", 3).second);
  EXPECT_FALSE(map.insert_or_assign("c", 4).second);
  EXPECT_EQ(map.at("c"), 4);
  auto [at, added] = map.insert_or_assign("d", 5);
  EXPECT_EQ(at->first, "d");
  EXPECT_EQ(at->second, 5);
  EXPECT_THROW(map.at("none"), std::out_of_range);
}

}  // namespace
}  // namespace drover
