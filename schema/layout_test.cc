// The layout rules of docs/formats.md, section 2, on small messages.
#include "schema/layout.h"

#include "schema/proto_text.h"

namespace drover::schema {
namespace {

uint32_t offset_of(const OwnedImage& image, const char* name) { return field_named(image, "M", name).offset; }

TEST(Layout, AnEmptyMessageIsItsHeader) {
  OwnedImage image = image_of("syntax = 'proto3'; message M {}");
  EXPECT_EQ(message_named(image, "M").object_size, 16u);
  EXPECT_EQ(message_named(image, "M").has_words, 0);
}

TEST(Layout, EightByteFieldsComeFirstThenFourThenOneEachInDeclarationOrder) {
  OwnedImage image = image_of(
      "syntax = 'proto3'; message M { bool a = 1; int32 b = 2; int64 c = 3; bool d = 4; string e = 5; float f = 6; }");
  EXPECT_EQ(offset_of(image, "c"), 16u);
  EXPECT_EQ(offset_of(image, "e"), 24u);
  EXPECT_EQ(offset_of(image, "b"), 40u);
  EXPECT_EQ(offset_of(image, "f"), 44u);
  EXPECT_EQ(offset_of(image, "a"), 48u);
  EXPECT_EQ(offset_of(image, "d"), 49u);
  EXPECT_EQ(message_named(image, "M").object_size, 56u);
}

TEST(Layout, DeclarationOrderCountsNotTheFieldNumber) {
  OwnedImage image = image_of("syntax = 'proto3'; message M { int64 late = 9; int64 early = 1; }");
  EXPECT_EQ(offset_of(image, "late"), 16u);
  EXPECT_EQ(offset_of(image, "early"), 24u);
}

TEST(Layout, HasBitsGoToFieldsWithPresenceThatAreNeitherMessagesNorInAOneof) {
  OwnedImage image = image_of(
      "syntax = 'proto3'; message M { int32 plain = 1; optional int32 a = 2; optional M m = 3; optional string b = 4;"
      "oneof o { int32 c = 5; } repeated int32 r = 6; }");
  EXPECT_EQ(field_named(image, "M", "plain").has_bit, kNoHasBit);
  EXPECT_EQ(field_named(image, "M", "a").has_bit, 0);
  EXPECT_EQ(field_named(image, "M", "m").has_bit, kNoHasBit);
  EXPECT_EQ(field_named(image, "M", "b").has_bit, 1);
  EXPECT_EQ(field_named(image, "M", "c").has_bit, kNoHasBit);
  EXPECT_EQ(field_named(image, "M", "r").has_bit, kNoHasBit);
  EXPECT_EQ(message_named(image, "M").has_words, 1);
  EXPECT_EQ(message_named(image, "M").oneof_count, 1);
  for (const char* name : {"a", "m", "b", "c"}) {
    EXPECT_NE(field_named(image, "M", name).flags & kFieldFlagExplicitPresence, 0) << name;
  }
  for (const char* name : {"plain", "r"}) {
    EXPECT_EQ(field_named(image, "M", name).flags & kFieldFlagExplicitPresence, 0) << name;
  }
}

TEST(Layout, FieldsFollowTheHasBitsAndCaseWords) {
  OwnedImage image = image_of("syntax = 'proto2'; message M { optional int32 a = 1; oneof o { bool b = 2; } }");
  EXPECT_EQ(field_named(image, "M", "b").case_offset, 20);
  EXPECT_EQ(offset_of(image, "b"), 24u);
  EXPECT_EQ(offset_of(image, "a"), 32u);
  EXPECT_EQ(message_named(image, "M").object_size, 40u);
}

TEST(Layout, AFourByteFieldMayFollowTheHasBitsDirectly) {
  OwnedImage image = image_of("syntax = 'proto2'; message M { optional int32 a = 1; }");
  EXPECT_EQ(offset_of(image, "a"), 20u);
  EXPECT_EQ(message_named(image, "M").object_size, 24u);
}

TEST(Layout, OneofMembersShareASlotAtThePlaceOfTheFirst) {
  OwnedImage image = image_of(
      "syntax = 'proto3'; message M { int64 before = 1; oneof o { bool a = 2; string b = 3; M c = 4; }"
      " int64 after = 5; oneof p { int32 d = 6; double e = 7; } }");
  EXPECT_EQ(offset_of(image, "before"), 24u);  // behind two case words
  for (const char* member : {"a", "b", "c"}) EXPECT_EQ(offset_of(image, member), 32u);
  EXPECT_EQ(offset_of(image, "after"), 48u);
  for (const char* member : {"d", "e"}) EXPECT_EQ(offset_of(image, member), 56u);
  EXPECT_EQ(message_named(image, "M").object_size, 64u);
  EXPECT_EQ(field_named(image, "M", "a").case_offset, 16);
  EXPECT_EQ(field_named(image, "M", "e").case_offset, 20);
}

TEST(Layout, RepeatedFieldsAreSixteenBytesAndMapsTwentyFour) {
  OwnedImage image = image_of(
      "syntax = 'proto3'; message M { repeated bool a = 1; map<int32, M> b = 2; repeated string c = 3; bytes d = 4; }");
  EXPECT_EQ(offset_of(image, "a"), 16u);
  EXPECT_EQ(offset_of(image, "b"), 32u);
  EXPECT_EQ(offset_of(image, "c"), 56u);
  EXPECT_EQ(offset_of(image, "d"), 72u);
}

TEST(Layout, MapEntriesHaveNoHasBitsInEitherSyntax) {
  for (const char* text : {"syntax = 'proto3'; message M { map<bool, string> m = 1; }",
                           "syntax = 'proto2'; message M { map<bool, string> m = 1; }"}) {
    OwnedImage image = image_of(text);
    const MessageEntry& entry = message_named(image, "M.MEntry");
    EXPECT_EQ(entry.flags, kMessageFlagMapEntry);
    EXPECT_EQ(entry.has_words, 0);
    EXPECT_EQ(entry.object_size, 40u);
    EXPECT_EQ(field_named(image, "M.MEntry", "value").offset, 16u);
    EXPECT_EQ(field_named(image, "M.MEntry", "key").offset, 32u);
    EXPECT_EQ(field_named(image, "M", "m").label, kLabelMap);
  }
}

TEST(Layout, TheThirtyThirdPresenceTakesASecondWord) {
  std::string text = "syntax = 'proto2'; message M {";
  for (int i = 1; i <= 33; ++i) text += "optional bool b" + std::to_string(i) + " = " + std::to_string(i) + ";";
  OwnedImage image = image_of((text + "}").c_str());
  EXPECT_EQ(message_named(image, "M").has_words, 2);
  EXPECT_EQ(offset_of(image, "b1"), 24u);
  EXPECT_EQ(offset_of(image, "b33"), 56u);
}

}  // namespace
}  // namespace drover::schema
