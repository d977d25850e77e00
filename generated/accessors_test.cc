// What the accessors of generated classes call, one by one.
#include "generated/accessors.h"

#include <gtest/gtest.h>

#include "testing/test_schema.h"

namespace drover::accessors {
namespace {

TEST(Accessors, HasBitsAreSetAndClearedOneByOne) {
  uint32_t words[3] = {};
  for (uint32_t bit : {0u, 31u, 32u, 95u}) {
    EXPECT_FALSE(has(words, bit));
    set_has(words, bit);
    EXPECT_TRUE(has(words, bit));
  }
  clear_has(words, 32);
  EXPECT_FALSE(has(words, 32));
  EXPECT_EQ(words[0], 0x80000001u);
  EXPECT_EQ(words[2], 0x80000000u);
}

TEST(Accessors, AMemberOfAOneofStartsAsZeroWhenItTakesTheSlotOver) {
  alignas(8) unsigned char slot[16];
  std::memset(slot, 0xff, sizeof(slot));
  uint32_t which = 3;
  EXPECT_EQ(*select<uint64_t>(slot, &which, 3), ~uint64_t{0}) << "the member that is set keeps its value";
  EXPECT_EQ(*select<int32_t>(slot, &which, 4), 0);
  EXPECT_EQ(which, 4u);
  *slot_as<int32_t>(slot) = 5;
  clear_oneof(slot, &which);
  EXPECT_EQ(which, 0u);
  EXPECT_EQ(*slot_as<int32_t>(slot), 0);
}

TEST(Accessors, DefaultStringsReferToTheirLiterals) {
  static const char kText[] = "some text";
  static const String* const text = default_string(kText, 9);  // never freed, as in generated code
  EXPECT_EQ(text->view(), "some text");
  EXPECT_EQ(text->data(), kText);
  EXPECT_EQ(empty_string().view(), "");
}

TEST(Accessors, AReleasedStringIsACopyAndTheFieldIsEmpty) {
  Arena arena;
  String field;
  field.assign_in(&arena, "a string that is long enough to be stored");
  std::string* released = release_string(&field);
  EXPECT_EQ(*released, "a string that is long enough to be stored");
  EXPECT_TRUE(field.empty());
  delete released;
}

TEST(Accessors, EnumValuesHaveTheirFirstDeclaredName) {
  testing::TestSchema schema(R"(syntax = "proto2"; enum E { option allow_alias = true; A = 0; ALIAS = 0; B = -5; }
                                message M { optional E e = 1; })");
  const schema::FieldEntry& field = schema.type("M").fields()[0];
  EXPECT_EQ(enum_name(schema.image(), field.sub, 0), "A");
  EXPECT_EQ(enum_name(schema.image(), field.sub, -5), "B");
  EXPECT_EQ(enum_name(schema.image(), field.sub, 1), "");
  EXPECT_EQ(&enum_name(schema.image(), field.sub, -5), &enum_name(schema.image(), field.sub, -5));
}

TEST(Accessors, EnumNamesAreLookedUpInTheirTable) {
  static constexpr EnumName kNames[] = {{"A", 0}, {"ALIAS", 0}, {"B", -5}};
  int number = 9;
  EXPECT_TRUE(enum_parse(kNames, 3, "B", &number));
  EXPECT_EQ(number, -5);
  EXPECT_TRUE(enum_parse(kNames, 3, "ALIAS", &number));
  EXPECT_EQ(number, 0);
  for (const char* name : {"", "C", "AL", "a"}) EXPECT_FALSE(enum_parse(kNames, 3, name, &number)) << name;
}

TEST(Accessors, TypeUrlsEndInTheFullName) {
  EXPECT_EQ(type_url("type.googleapis.com", "t.M"), "type.googleapis.com/t.M");
  EXPECT_EQ(type_url("type.googleapis.com/", "t.M"), "type.googleapis.com/t.M");
  EXPECT_EQ(type_url("", "t.M"), "/t.M");
  EXPECT_TRUE(type_url_names("a/b/t.M", "t.M"));
  EXPECT_FALSE(type_url_names("t.M", "t.M"));
  EXPECT_FALSE(type_url_names("a/tt.M", "t.M"));
}

}  // namespace
}  // namespace drover::accessors
