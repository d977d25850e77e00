#include "message/reflection.h"

#include <gtest/gtest.h>

#include <map>

#include "schema/dynamic_schema.h"
#include "schema/proto_text.h"

namespace drover::reflection {
namespace {

const schema::DynamicSchema& test_schema() {
  static const auto* schema = [] {
    auto* made = new schema::DynamicSchema();
    EXPECT_EQ(schema::DynamicSchema::load(schema::parse_protos({{"test.proto", R"(
      syntax = "proto2"; package t;
      enum Closed { ZERO = 0; ONE = 1; }
      message All {
        optional double a_double = 1; optional float a_float = 2; optional int64 an_int64 = 3;
        optional uint64 a_uint64 = 4; optional int32 an_int32 = 5; optional fixed64 a_fixed64 = 6;
        optional fixed32 a_fixed32 = 7; optional bool a_bool = 8; optional string a_string = 9;
        optional group AGroup = 10 { optional int32 a = 1; } optional All an_all = 11; optional bytes some_bytes = 12;
        optional uint32 a_uint32 = 13; optional Closed closed = 14; optional sfixed32 a_sfixed32 = 15;
        optional sfixed64 a_sfixed64 = 16; optional sint32 a_sint32 = 17; optional sint64 a_sint64 = 18;
        repeated int32 numbers = 31; repeated string texts = 32; repeated All alls = 33; repeated Closed closeds = 34;
        repeated double doubles = 35; repeated bool bools = 36;
        map<string, int32> by_text = 41; map<int32, All> by_number = 42; map<bool, string> by_bool = 43;
        map<uint64, bytes> by_uint64 = 44;
        oneof first { int32 one = 51; string two = 52; All three = 53; }
        oneof second { bool four = 54; }
        optional int32 with_default = 61 [default = 7]; optional string text_default = 62 [default = "some"];
        optional Closed one_default = 63 [default = ONE]; optional int32 renamed = 64 [json_name = "other"];
      })"}}),
                                          made),
              "");
    return made;
  }();
  return *schema;
}

class ReflectionTest : public ::testing::Test {
 protected:
  const FieldEntry& field(std::string_view name) const {
    const FieldEntry* found = all.find(name);
    if (found == nullptr) ADD_FAILURE() << name;
    return *found;
  }
  std::string text() const { return message::debug_text(type, *all.message(), {.one_line = true}); }

  MessageType type = *test_schema().find_message("t.All");
  Arena arena;
  Object all = create(type, &arena);
};

TEST_F(ReflectionTest, FindsFieldsByNumberNameAndJsonName) {
  EXPECT_EQ(all.find(9), all.find("a_string"));
  EXPECT_EQ(all.find("aString"), all.find("a_string"));
  EXPECT_EQ(all.find("other"), all.find(64));
  EXPECT_EQ(all.find(1000), nullptr);
  EXPECT_EQ(all.find("nothing"), nullptr);
  EXPECT_EQ(all.fields().size(), 36u);
}

TEST_F(ReflectionTest, SetsAndGetsASingularFieldOfEveryKind) {
  all.set<double>(field("a_double"), 1.5);
  all.set<float>(field("a_float"), 2.5f);
  all.set<int64_t>(field("an_int64"), -3);
  all.set<uint64_t>(field("a_uint64"), 4);
  all.set<int32_t>(field("an_int32"), -5);
  all.set<uint64_t>(field("a_fixed64"), 6);
  all.set<uint32_t>(field("a_fixed32"), 7);
  all.set<bool>(field("a_bool"), true);
  all.set<std::string_view>(field("a_string"), "text");
  all.set<std::string_view>(field("some_bytes"), std::string_view("\0\xff", 2));
  all.set<uint32_t>(field("a_uint32"), 13);
  all.set<int32_t>(field("closed"), 1);
  all.set<int32_t>(field("a_sfixed32"), -15);
  all.set<int64_t>(field("a_sfixed64"), -16);
  all.set<int32_t>(field("a_sint32"), -17);
  all.set<int64_t>(field("a_sint64"), -18);
  EXPECT_EQ(text(),
            "a_double: 1.5 a_float: 2.5 an_int64: -3 a_uint64: 4 an_int32: -5 a_fixed64: 6 a_fixed32: 7 a_bool: true "
            "a_string: \"text\" some_bytes: \"\\000\\377\" a_uint32: 13 closed: ONE a_sfixed32: -15 a_sfixed64: -16 "
            "a_sint32: -17 a_sint64: -18");
  EXPECT_EQ(all.get<double>(field("a_double")), 1.5);
  EXPECT_EQ(all.get<float>(field("a_float")), 2.5f);
  EXPECT_EQ(all.get<int64_t>(field("a_sint64")), -18);
  EXPECT_EQ(all.get<uint64_t>(field("a_fixed64")), 6u);
  EXPECT_EQ(all.get<int32_t>(field("closed")), 1);
  EXPECT_TRUE(all.get<bool>(field("a_bool")));
  EXPECT_EQ(all.get<std::string_view>(field("some_bytes")), std::string_view("\0\xff", 2));
}

TEST_F(ReflectionTest, KnowsPresenceAndDefaults) {
  EXPECT_FALSE(all.has(field("with_default")));
  EXPECT_EQ(all.get<int32_t>(field("with_default")), 7);
  EXPECT_EQ(all.get<std::string_view>(field("text_default")), "some");
  EXPECT_EQ(all.get<int32_t>(field("one_default")), 1);
  all.set<int32_t>(field("with_default"), 0);
  all.set<std::string_view>(field("text_default"), "");
  EXPECT_TRUE(all.has(field("with_default")));
  EXPECT_EQ(all.get<int32_t>(field("with_default")), 0);
  EXPECT_EQ(all.get<std::string_view>(field("text_default")), "");
  all.clear(field("with_default"));
  all.clear(field("text_default"));
  EXPECT_FALSE(all.has(field("with_default")));
  EXPECT_EQ(all.get<int32_t>(field("with_default")), 7);
  EXPECT_EQ(all.get<std::string_view>(field("text_default")), "some");
}

TEST_F(ReflectionTest, AddsSetsSwapsAndRemovesElementsOfLists) {
  for (int32_t i = 0; i < 20; ++i) {
    all.add<int32_t>(field("numbers"), i);
    all.add<std::string_view>(field("texts"), "text " + std::to_string(i));
    all.add_sub(field("alls")).set<int32_t>(field("an_int32"), i);
  }
  EXPECT_EQ(all.size(field("numbers")), 20);
  all.set<int32_t>(field("numbers"), 3, 33);
  all.set<std::string_view>(field("texts"), 3, "a longer text than was there before");
  all.swap_elements(field("numbers"), 0, 3);
  all.swap_elements(field("texts"), 0, 3);
  all.swap_elements(field("alls"), 0, 3);
  EXPECT_EQ(all.get<int32_t>(field("numbers"), 0), 33);
  EXPECT_EQ(all.get<int32_t>(field("numbers"), 3), 0);
  EXPECT_EQ(all.get<std::string_view>(field("texts"), 0), "a longer text than was there before");
  EXPECT_EQ(all.get<std::string_view>(field("texts"), 3), "text 0");
  EXPECT_EQ(all.sub(field("alls"), 0).get<int32_t>(field("an_int32")), 3);
  EXPECT_EQ(all.sub(field("alls"), 3).get<int32_t>(field("an_int32")), 0);
  while (all.size(field("texts")) > 1) all.remove_last(field("texts"));
  all.add<std::string_view>(field("texts"), all.get<std::string_view>(field("texts"), 0));
  EXPECT_EQ(all.get<std::string_view>(field("texts"), 1), "a longer text than was there before");
  all.remove_last(field("alls"));
  EXPECT_FALSE(all.add_sub(field("alls")).has(field("an_int32"))) << "a message that is used again is empty";
  all.clear(field("numbers"));
  EXPECT_FALSE(all.has(field("numbers")));
}

TEST_F(ReflectionTest, MakesAndClearsSubMessages) {
  EXPECT_FALSE(all.has(field("an_all")));
  EXPECT_FALSE(all.sub(field("an_all")));
  EXPECT_EQ(all.sub(field("an_all")).sub(field("an_all")).get<int32_t>(field("with_default")), 7);
  EXPECT_EQ(all.sub(field("an_all")).size(field("numbers")), 0);
  EXPECT_EQ(all.sub(field("an_all")).map(field("by_text")).size(), 0);
  Object below = all.mutable_sub(field("an_all"));
  below.set<int32_t>(field("an_int32"), 1);
  EXPECT_TRUE(all.has(field("an_all")));
  EXPECT_EQ(all.sub(field("an_all")).get<int32_t>(field("an_int32")), 1);
  all.clear(field("an_all"));
  EXPECT_FALSE(all.has(field("an_all")));
  EXPECT_FALSE(all.mutable_sub(field("an_all")).has(field("an_int32")));
  all.mutable_sub(field("agroup")).set<int32_t>(*all.sub(field("agroup")).find("a"), 5);
  EXPECT_EQ(text(), "AGroup { a: 5 } an_all { }");
}

TEST_F(ReflectionTest, InsertsFindsErasesAndWalksMapEntries) {
  const Map by_text = all.mutable_map(field("by_text"));
  for (int32_t i = 0; i < 100; ++i) {
    by_text.insert(MapKeyValue(std::string_view(std::to_string(i)))).set<int32_t>(by_text.value_field(), i);
  }
  by_text.insert(MapKeyValue("5")).set<int32_t>(by_text.value_field(), 55);
  EXPECT_EQ(by_text.size(), 100);
  EXPECT_EQ(by_text.find(MapKeyValue("5")).get<int32_t>(by_text.value_field()), 55);
  EXPECT_FALSE(by_text.find(MapKeyValue("100")));
  EXPECT_TRUE(by_text.erase(MapKeyValue("5")));
  EXPECT_FALSE(by_text.erase(MapKeyValue("5")));
  std::map<std::string, int32_t> seen;
  const ConstMap read = std::as_const(all).map(field("by_text"));
  for (int i = 0; i < read.size(); ++i) {
    const ConstObject entry = read.entry(i);
    seen[std::string(entry.get<std::string_view>(read.key_field()))] = entry.get<int32_t>(read.value_field());
  }
  EXPECT_EQ(seen.size(), 99u);
  EXPECT_EQ(seen["99"], 99);

  const Map by_number = all.mutable_map(field("by_number"));
  EXPECT_FALSE(by_number.insert(MapKeyValue(int32_t{-1})).has(by_number.value_field()));
  by_number.insert(MapKeyValue(int32_t{-1})).mutable_sub(by_number.value_field()).set<bool>(field("a_bool"), true);
  EXPECT_TRUE(by_number.find(MapKeyValue(int32_t{-1})).sub(by_number.value_field()).get<bool>(field("a_bool")));
  const Map by_bool = all.mutable_map(field("by_bool"));
  by_bool.insert(MapKeyValue(true)).set<std::string_view>(by_bool.value_field(), "yes");
  EXPECT_EQ(by_bool.find(MapKeyValue(true)).get<std::string_view>(by_bool.value_field()), "yes");
  const Map by_uint64 = all.mutable_map(field("by_uint64"));
  by_uint64.insert(MapKeyValue(~uint64_t{0}));
  EXPECT_TRUE(by_uint64.find(MapKeyValue(~uint64_t{0})));
  all.clear(field("by_text"));
  EXPECT_EQ(all.size(field("by_text")), 0);
  EXPECT_FALSE(all.map(field("by_text")).find(MapKeyValue("7")));
}

TEST_F(ReflectionTest, TellsWhichMemberOfAOneofIsSet) {
  EXPECT_EQ(all.oneof_count(), 2);
  EXPECT_EQ(all.oneof_of(field("two")), 0);
  EXPECT_EQ(all.oneof_of(field("four")), 1);
  EXPECT_EQ(all.oneof_of(field("a_bool")), -1);
  EXPECT_EQ(all.oneof_member(0), nullptr);
  all.set<int32_t>(field("one"), 0);
  EXPECT_EQ(all.oneof_member(0), &field("one"));
  EXPECT_TRUE(all.has(field("one")));
  all.set<std::string_view>(field("two"), "text");
  EXPECT_FALSE(all.has(field("one")));
  EXPECT_EQ(all.get<int32_t>(field("one")), 0);
  all.clear(field("one"));  // another member is set: nothing happens
  EXPECT_EQ(all.get<std::string_view>(field("two")), "text");
  all.mutable_sub(field("three")).set<bool>(field("a_bool"), true);
  EXPECT_EQ(all.get<std::string_view>(field("two")), "");
  EXPECT_TRUE(all.sub(field("three")).get<bool>(field("a_bool")));
  all.clear_oneof(0);
  EXPECT_EQ(all.oneof_member(0), nullptr);
  EXPECT_EQ(text(), "");
}

TEST_F(ReflectionTest, VisitsValuesInTheirOwnType) {
  all.set<double>(field("a_double"), 1.5);
  all.set<std::string_view>(field("a_string"), "x");
  all.mutable_sub(field("an_all"));
  all.add<bool>(field("bools"), true);
  auto kind = [](auto value) -> std::string {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, ConstObject>) {
      return value.type().full_name();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return "text " + std::string(value);
    } else {
      return std::to_string(sizeof(value)) + " bytes";
    }
  };
  EXPECT_EQ(all.visit(field("a_double"), kind), "8 bytes");
  EXPECT_EQ(all.visit(field("a_string"), kind), "text x");
  EXPECT_EQ(all.visit(field("an_all"), kind), "t.All");
  EXPECT_EQ(all.visit(field("bools"), 0, kind), "1 bytes");
  EXPECT_EQ(all.visit(field("closed"), kind), "4 bytes");
}

TEST_F(ReflectionTest, NamesEnumValues) {
  EXPECT_EQ(all.enum_name(field("closed"), 1), "ONE");
  EXPECT_EQ(all.enum_name(field("closed"), 2), "");
  int32_t number = -1;
  EXPECT_TRUE(all.find_enum_value(field("closed"), "ONE", &number));
  EXPECT_EQ(number, 1);
  EXPECT_FALSE(all.find_enum_value(field("closed"), "TWO", &number));
}

TEST_F(ReflectionTest, KeepsUnknownFieldsAndClearsAll) {
  all.add_unknown("\xc0\x3e\x05");
  all.add_unknown("\xc8\x3e\x06");
  EXPECT_EQ(all.unknown_fields(), "\xc0\x3e\x05\xc8\x3e\x06");
  EXPECT_EQ(text(), "1000: 5 1001: 6");
  all.clear_unknown();
  EXPECT_EQ(all.unknown_fields(), "");
  all.add_unknown("\xc0\x3e\x05");
  all.set<bool>(field("a_bool"), true);
  all.clear();
  EXPECT_EQ(text(), "");
}

using ReflectionDeathTest = ReflectionTest;

TEST_F(ReflectionDeathTest, EndsTheProcessOnMisuse) {
  EXPECT_DEATH(all.get<int32_t>(field("a_string")),
               "t.All.a_string is a singular string, and is used as a singular int32");
  EXPECT_DEATH(all.set<int32_t>(field("numbers"), 1),
               "t.All.numbers is a repeated int32, and is used as a singular int32");
  EXPECT_DEATH(all.get<int32_t>(field("numbers"), 0), "t.All.numbers has no element 0");
  EXPECT_DEATH(all.remove_last(field("numbers")), "t.All.numbers has no element 0");
  EXPECT_DEATH(all.set<int32_t>(field("closed"), 2), "t.All.closed is of a closed enum, which has no value 2");
  const MessageType group = type.sub(field("agroup"));
  EXPECT_DEATH(all.get<int32_t>(group.fields()[0]), "a field of another message is used on a t.All");
  EXPECT_DEATH(all.has(group.fields()[0]), "a field of another message is used on a t.All");
  const Map map = all.mutable_map(field("by_text"));
  EXPECT_DEATH(map.insert(MapKeyValue(int32_t{1})), "a map's key is a string, and is looked up as a int32");
  map.insert(MapKeyValue("a"));
  EXPECT_DEATH(map.mutable_entry(0).set<std::string_view>(map.key_field(), "b"), "a map's key is changed");
  EXPECT_DEATH(map.mutable_entry(1), "a map has no entry 1");
  *all.message()->drover_owner() = kReceived;
  EXPECT_DEATH(all.set<bool>(field("a_bool"), true), "read-only");
}

}  // namespace
}  // namespace drover::reflection
