// Strings, repeated fields and maps that are variables: copies of fields, and values that programs make.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "object/map.h"
#include "object/repeated.h"
#include "object/string.h"

namespace drover {
namespace {

// Fields of a message, by hand: their owner word is in front of them.
struct Fields {
  explicit Fields(Arena* arena) : owner(reinterpret_cast<OwnerWord>(arena)) {}
  String* text() { return text_.with_owner(&owner); }
  RepeatedPtrField<String>* tags() { return tags_.note_owner(&owner), &tags_; }
  RepeatedField<int>* numbers() { return numbers_.note_owner(&owner), &numbers_; }
  Map<String, String>* labels() { return labels_.note_owner(&owner), &labels_; }

  OwnerWord owner;
  String text_;
  RepeatedPtrField<String> tags_;
  RepeatedField<int> numbers_;
  Map<String, String> labels_;
};

TEST(Standalone, ACopyOfAStringOutlivesItsMessageAndChangesAlone) {
  auto arena = std::make_unique<Arena>();
  auto fields = std::make_unique<Fields>(arena.get());
  *fields->text() = "a text that is longer than what is stored in place";
  auto copy = *fields->text();
  copy += "!";
  EXPECT_EQ(fields->text_, "a text that is longer than what is stored in place");
  fields.reset();
  arena.reset();
  EXPECT_EQ(copy, "a text that is longer than what is stored in place!");
}

TEST(Standalone, MovingAStringTakesOnlyWhatStandsAlone) {
  Arena arena;
  Fields fields(&arena);
  *fields.text() = "field";
  String copy = std::move(*fields.text());
  EXPECT_EQ(fields.text_, "field");
  const char* bytes = std::as_const(copy).data();
  String moved = std::move(copy);
  EXPECT_EQ(std::as_const(moved).data(), bytes);
  *fields.text() = std::move(moved);
  EXPECT_EQ(fields.text_, "field");
  EXPECT_NE(std::as_const(fields.text_).data(), bytes);
  std::swap(*fields.text(), copy);
  EXPECT_EQ(copy, "field");
}

TEST(Standalone, StringsFillContainersAndAlgorithms) {
  std::vector<String> all = {"b", "a", "a string of more than sixteen bytes", ""};
  std::sort(all.begin(), all.end());
  all.erase(all.begin());
  all.insert(all.begin(), all.back());
  std::map<String, int> counts;
  for (const String& s : all) ++counts[s];
  EXPECT_EQ(counts.size(), 3u);
}

TEST(Standalone, AStringHasTheMutatorsOfStdString) {
  String s;
  std::string peer;
  auto both = [&](auto change) {
    change(s);
    change(peer);
    ASSERT_EQ(s, peer);
  };
  both([](auto& t) { t = "0123456789"; });
  both([](auto& t) { t.append("abc", 2).append(3, 'x').append(std::string("hello"), 1, 2); });
  both([](auto& t) { t.insert(2, "__").insert(0, "abcdef", 3).insert(1, 2, '.'); });
  both([](auto& t) { t.insert(t.begin() + 1, '!'); });
  both([](auto& t) { t.erase(t.begin()), t.erase(t.begin() + 1, t.begin() + 3), t.erase(20, 2); });
  both([](auto& t) { t.replace(1, 2, "yes").replace(0, 1, "abcdef", 4).replace(2, 1, 3, '-'); });
  const std::string other = "another";
  both([&](auto& t) { t.insert(1, other, 2).insert(1, other, 2, 3).insert(3, other); });
  both([&](auto& t) { t.replace(1, 1, other, 4).replace(0, 2, other, 1, 3).replace(0, 1, other); });
  both([](auto& t) { t.replace(t.begin(), t.begin() + 2, 3, 'x'); });
  both([](auto& t) { t.replace(t.begin() + 1, t.begin() + 2, "four", 2); });
  both([&](auto& t) { t.replace(t.begin() + 1, t.end() - 1, other.begin(), other.end()); });
  both([&](auto& t) { t.replace(t.begin(), t.begin() + 1, other).replace(t.begin(), t.begin(), {'i', 'j'}); });
  both([](auto& t) { t.insert(t.begin() + 2, {'a', 'b'}), t.insert(t.end(), 2, 'c'); });
  both([&](auto& t) { t.insert(t.begin(), other.begin() + 1, other.end()); });
  both([](auto& t) { t.assign(t, 2, 5); });
  both([](auto& t) { t += t; });
  both([](auto& t) { t.assign(t.begin() + 1, t.end()), t.resize(7), t.push_back('z'), t.pop_back(); });
  both([](auto& t) { std::reverse(t.begin(), t.end()), t.shrink_to_fit(), t.clear(); });
}

TEST(Standalone, AZeroIsAnIndexOfAString) {
  Arena arena;
  Fields fields(&arena);
  String* s = fields.text();
  const std::string text = "text";
  const size_t n = 2;
  s->insert(0, 1, '/').insert(0, n, '0').insert(0, text).insert(0, "a", 1);
  EXPECT_EQ(*s, "atext00/");
  s->replace(0, 0, text).replace(0, 0, "b").replace(0, 0, text, 0, 1);
  EXPECT_EQ(*s, "tbtextatext00/");
  s->erase(0, 0).erase(0, 2);
  EXPECT_EQ(*s, "textatext00/");
  s->erase(0);
  EXPECT_EQ(*s, "");
}

TEST(Standalone, AnIteratorIntoAStringWithoutStorageIsAtItsBegin) {
  String s;
  s.insert(std::as_const(s).begin(), 'a');
  EXPECT_EQ(s, "a");
  String none;
  EXPECT_EQ(none.erase(none.cbegin(), none.cend()), none.begin());
}

TEST(Standalone, StringsAreConstructedAsStdStringsAre) {
  const std::string text = "text";
  EXPECT_EQ(String(3, 'x'), "xxx");
  EXPECT_EQ(String(0, 'x'), "");
  EXPECT_EQ(String(text.begin() + 1, text.end()), "ext");
  EXPECT_EQ(String("a\0b", 3), std::string_view("a\0b", 3));
  std::vector<String> all;
  all.emplace_back(text);
  all.push_back(String(text));
  EXPECT_EQ(all[0], all[1]);
}

TEST(Standalone, VariablesMoveWithoutACopy) {
  static_assert(std::is_nothrow_move_constructible_v<String> && std::is_nothrow_move_assignable_v<String>);
  static_assert(std::is_nothrow_move_constructible_v<RepeatedField<int>>);
  static_assert(std::is_nothrow_move_assignable_v<RepeatedField<int>>);
  static_assert(std::is_nothrow_move_constructible_v<RepeatedPtrField<String>>);
  static_assert(std::is_nothrow_move_assignable_v<RepeatedPtrField<String>>);
  static_assert(std::is_nothrow_move_constructible_v<Map<String, String>>);
  static_assert(std::is_nothrow_move_assignable_v<Map<String, String>>);

  RepeatedField<int> numbers;
  numbers.Add(1);
  RepeatedPtrField<String> tags;
  tags.Add("tag");
  Map<String, String> labels;
  labels["key"] = "label";
  const int* number = numbers.data();
  const String* tag = &std::as_const(tags).Get(0);
  const String* label = &std::as_const(labels).at("key");

  std::vector<RepeatedField<int>> numbers_of;
  std::vector<RepeatedPtrField<String>> tags_of;
  std::vector<Map<String, String>> labels_of;
  numbers_of.push_back(std::move(numbers));
  tags_of.push_back(std::move(tags));
  labels_of.push_back(std::move(labels));
  for (int i = 0; i < 20; ++i) numbers_of.emplace_back(), tags_of.emplace_back(), labels_of.emplace_back();
  EXPECT_EQ(std::as_const(numbers_of[0]).data(), number);
  EXPECT_EQ(&std::as_const(tags_of[0]).Get(0), tag);
  EXPECT_EQ(&std::as_const(labels_of[0]).at("key"), label);

  numbers_of[1] = std::move(numbers_of[0]);
  tags_of[1] = std::move(tags_of[0]);
  labels_of[1] = std::move(labels_of[0]);
  numbers_of[1].Swap(&numbers_of[2]);
  tags_of[1].Swap(&tags_of[2]);
  labels_of[1].swap(labels_of[2]);
  EXPECT_EQ(std::as_const(numbers_of[2]).data(), number);
  EXPECT_EQ(&std::as_const(tags_of[2]).Get(0), tag);
  EXPECT_EQ(&std::as_const(labels_of[2]).at("key"), label);
  for (int i = 0; i < 20; ++i) labels_of[2][std::to_string(i)] = "more", tags_of[2].Add("more");
  EXPECT_EQ(labels_of[2].at("key"), "label");
  EXPECT_EQ(tags_of[2].Get(0), "tag");
}

TEST(Standalone, MovingBetweenAFieldAndAVariableCopies) {
  Arena arena;
  Fields fields(&arena);
  RepeatedPtrField<String> tags;
  tags.Add("tag");
  *fields.tags() = std::move(tags);
  EXPECT_EQ(fields.tags_.Get(0), "tag");
  RepeatedPtrField<String> taken;
  taken.Add("old");
  taken = std::move(*fields.tags());
  EXPECT_EQ(taken.Get(0), "tag");
  EXPECT_EQ(fields.tags_.Get(0), "tag");
  Map<String, String> labels;
  labels["key"] = "label";
  *fields.labels() = std::move(labels);
  labels = std::move(*fields.labels());
  EXPECT_EQ(labels.at("key"), "label");
  EXPECT_EQ(fields.labels_.at("key"), "label");
}

TEST(Standalone, FieldsAreMadeOfIteratorsOverElementsOnly) {
  using Tags = RepeatedPtrField<String>;
  using Words = std::vector<std::string>;
  static_assert(!std::is_constructible_v<Tags, const char*, const char*>);
  static_assert(!std::is_constructible_v<Tags, int, int>);
  static_assert(std::is_constructible_v<Tags, const char**, const char**>);
  static_assert(std::is_constructible_v<Tags, std::string_view*, std::string_view*>);
  static_assert(std::is_constructible_v<Tags, Words::const_iterator, Words::const_iterator>);
  static_assert(std::is_constructible_v<Tags, Tags::iterator, Tags::iterator>);
  static_assert(std::is_constructible_v<Tags, Tags::const_iterator, Tags::const_iterator>);
  using Moving = std::move_iterator<Tags::iterator>;
  static_assert(std::is_constructible_v<Tags, Moving, Moving>);
  Words words = {"one", "two"};
  Tags tags(std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  tags.Add(words.begin(), words.end());
  tags.Assign(tags.begin(), tags.begin());
  EXPECT_TRUE(tags.empty());
}

TEST(StandaloneDeathTest, AStringThatStandsAloneIsNoField) {
  Arena arena;
  Fields fields(&arena);
  fields.text_ = "written past the mutating accessor";
  EXPECT_DEATH(fields.text(), "a String that stands alone became a field");
}

TEST(StandaloneDeathTest, AFieldReachedPastItsAccessorTakesNothingOver) {
  Arena arena;
  Fields fields(&arena);
  fields.text_.assign_in(&arena, "a field whose accessor was not called");
  EXPECT_DEATH(fields.text_ = String("other"), "not reached through a mutating accessor");
}

TEST(Standalone, RepeatedFieldsAreValues) {
  RepeatedField<int> numbers;
  for (int i = 0; i < 100; ++i) numbers.Add(i);
  RepeatedField<int> copy = numbers;
  copy.RemoveLast();
  RepeatedField<int> moved = std::move(copy);
  EXPECT_EQ(moved.size(), 99);
  EXPECT_EQ(numbers.size(), 100);
  EXPECT_EQ(numbers.Get(99), 99);
  swap(moved, numbers);
  EXPECT_EQ(moved.size(), 100);
  RepeatedField<int> empty = RepeatedField<int>();
  empty = moved;
  EXPECT_EQ(empty.Get(98), 98);
}

TEST(Standalone, FieldsAndValuesAssignEachOther) {
  Arena arena;
  Fields fields(&arena);
  std::vector<std::string> words = {"one", "two, which is longer than sixteen bytes"};
  *fields.tags() = {words.begin(), words.end()};
  auto copy = *fields.tags();
  for (int i = 0; i < 50; ++i) copy.Add("more");
  *copy.Mutable(0) = "changed";
  EXPECT_EQ(fields.tags_.Get(0), "one");
  fields.tags()->Swap(&copy);
  EXPECT_EQ(fields.tags_.size(), 52);
  EXPECT_EQ(copy.size(), 2);
  EXPECT_EQ(copy.GetArena(), nullptr);
  const std::vector<int> some = {3, 1, 2};
  *fields.numbers() = {some.begin(), some.end()};
  EXPECT_EQ(fields.numbers_.Get(2), 2);
}

TEST(Standalone, MapsAreValues) {
  Arena arena;
  Fields fields(&arena);
  Map<String, String> labels;
  for (int i = 0; i < 100; ++i) labels[std::to_string(i)] = "value " + std::to_string(i);
  *fields.labels() = labels;
  Map<String, String> copy = *fields.labels();
  copy.erase("7");
  Map<String, String> moved = std::move(copy);
  moved["new"] = "new";
  EXPECT_EQ(moved.size(), 100u);
  EXPECT_EQ(moved.at("99"), "value 99");
  EXPECT_EQ(moved.count("7"), 0u);
  EXPECT_EQ(fields.labels_.size(), 100u);
  fields.labels()->swap(moved);
  EXPECT_EQ(fields.labels_.count("new"), 1u);
  EXPECT_EQ(moved.count("7"), 1u);
}

}  // namespace
}  // namespace drover
