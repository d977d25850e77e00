#include "object/map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace drover {
namespace {

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

TEST(MapTest, AgreesWithStdMapOverRandomOperations) {
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

TEST(MapTest, HoldsStringsByStringKeys) {
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

TEST(MapTest, BuildsItsIndexOverEntriesThatCameWithoutOne) {
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

TEST(MapTest, LaysEntriesOutAsTheFormatSays) {
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

}  // namespace
}  // namespace drover
