// Extensions: who knows them, and what an object's unknown bytes say once they are known.
#include "message/extensions.h"

#include "message/message_testing.h"

namespace drover::message {
namespace {

using testing::from_hex;
using testing::TestObject;
using testing::TestSchema;

bool decode_wire(const schema::MessageType& type, Message* object, std::string_view wire, Arena* arena) {
  return decode(type, object, wire, *arena).ok();
}

class ExtensionsTest : public ::testing::Test {
 protected:
  ExtensionsTest() { installed_decoder.store(decode_wire); }
  ~ExtensionsTest() override { installed_decoder.store(nullptr); }

  std::string extensions_of(TestObject& object) {
    ExtensionFinder finder;
    DecodedExtensions decoded(object.type(), object.get()->drover_bytes(), &finder);
    std::string text;
    for (const auto& extension : decoded.extensions()) {
      text += debug_text(extension.type, *extension.object, {.one_line = true}) + "; ";
    }
    return text + "unknown " + testing::to_hex(decoded.unknown());
  }
  std::string extensions_of(const std::string& type, const std::string& wire) {
    TestObject object(schema.type(type));
    EXPECT_TRUE(object.decode(wire).ok());
    return extensions_of(object);
  }

  TestSchema schema{R"(
    syntax = "proto2"; package t;
    enum Closed { ZERO = 0; ONE = 1; }
    message Sub { optional int32 a = 1; required int32 b = 2; }
    message Base { optional int32 own = 1; extensions 100 to 200; }
    message Plain { optional int32 own = 1; }
    extend Base {
      optional int32 number = 100; repeated int32 numbers = 101; optional Sub sub = 102; optional Closed closed = 103;
      optional string text = 104;
    }
    message Set { option message_set_wire_format = true; extensions 4 to max; }
    message Item { extend Set { optional Item in_set = 100000; } optional int32 x = 1; })"};
};

TEST_F(ExtensionsTest, AreFoundByNumberAndByName) {
  const schema::MessageType base = schema.type("t.Base");
  EXPECT_EQ(find_extension(base, 102).fields()[0].number, 102u);
  EXPECT_EQ(find_extension(base, "t.text").fields()[0].number, 104u);
  EXPECT_EQ(find_extension(base, 105).image, nullptr);
  EXPECT_EQ(find_extension(base, "t.nothing").image, nullptr);
  EXPECT_EQ(find_extension(schema.type("t.Plain"), 102).image, nullptr);
}

TEST_F(ExtensionsTest, AFinderKnowsTheNamesThatTextsHave) {
  ExtensionFinder finder;
  const schema::MessageType base = schema.type("t.Base"), set = schema.type("t.Set");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(finder.find_printed(base, "t.text").fields()[0].number, 104u);
    EXPECT_EQ(finder.find_printed(base, "t.nothing").image, nullptr);
    EXPECT_EQ(finder.find_printed(set, "t.Item").fields()[0].number, 100000u);
    EXPECT_EQ(finder.find_printed(set, "t.Item.in_set").fields()[0].number, 100000u);
    EXPECT_EQ(finder.find_printed(schema.type("t.Plain"), "t.text").image, nullptr);
  }
}

TEST_F(ExtensionsTest, OfRegisteredImagesAreFoundAsLongAsTheyAreRegistered) {
  TestSchema elsewhere(R"(syntax = "proto2"; package t;
      message Base { optional int32 own = 1; extensions 100 to 200; } message Other { }
      extend Base { optional int32 far = 150; })");
  const schema::MessageType base = schema.type("t.Base");
  EXPECT_EQ(find_extension(base, 150).image, nullptr);
  EXPECT_EQ(find_registered_message("t.Other").image, nullptr);
  {
    RegisteredImage registered(&elsewhere.image());
    EXPECT_EQ(find_extension(base, 150).image, &elsewhere.image());
    EXPECT_EQ(find_extension(base, "t.far").image, &elsewhere.image());
    EXPECT_EQ(find_registered_message("t.Other").image, &elsewhere.image());
  }
  EXPECT_EQ(find_extension(base, 150).image, nullptr);
}

TEST_F(ExtensionsTest, AreDecodedByNumberAndTheRestStaysUnknown) {
  EXPECT_EQ(extensions_of("t.Base", from_hex("a2 06 01 61 08 01 a0 06 07 c0 0c 05 a0 06 08")),
            "t.number: 8; unknown a2 06 01 61 c0 0c 05 ");
}

TEST_F(ExtensionsTest, MergeTheirOccurrences) {
  EXPECT_EQ(extensions_of("t.Base", from_hex("b2 06 02 08 01 a8 06 01 b2 06 02 10 02 aa 06 02 02 03")),
            "t.numbers: 1 t.numbers: 2 t.numbers: 3; t.sub { a: 1 b: 2 }; unknown ");
}

TEST_F(ExtensionsTest, OfAClosedEnumLeaveValuesThatItDoesNotKnow) {
  EXPECT_EQ(extensions_of("t.Base", from_hex("b8 06 07")), "unknown b8 06 07 ");
  EXPECT_EQ(extensions_of("t.Base", from_hex("b8 06 01")), "t.closed: ONE; unknown ");
}

TEST_F(ExtensionsTest, AreUnknownFieldsWithoutADecoderOrARange) {
  EXPECT_EQ(extensions_of("t.Plain", from_hex("a0 06 07")), "unknown a0 06 07 ");
  installed_decoder.store(nullptr);
  EXPECT_EQ(extensions_of("t.Base", from_hex("a0 06 07")), "unknown a0 06 07 ");
}

TEST_F(ExtensionsTest, MissRequiredFieldsAndSurviveDiscardingUnknownOnes) {
  TestObject object(schema.type("t.Base"));
  ASSERT_TRUE(object.decode(from_hex("b2 06 02 08 01 c0 0c 05")).ok());
  std::vector<std::string> missing;
  find_missing(object.type(), *object.get(), &missing);
  EXPECT_EQ(missing, std::vector<std::string>{"(t.sub).b"});
  EXPECT_FALSE(is_initialized(object.type(), *object.get()));
  discard_unknown(object.type(), object.get());
  EXPECT_EQ(testing::to_hex(object.get()->drover_unknown()), "b2 06 02 08 01 ");
}

TEST_F(ExtensionsTest, ArePrintedAmongTheFields) {
  TestObject object(schema.type("t.Base"));
  ASSERT_TRUE(object.decode(from_hex("a0 06 07 08 01 c0 0c 05")).ok());
  EXPECT_EQ(object.text(), "own: 1\n[t.number]: 7\n200: 5\n");
}

TEST_F(ExtensionsTest, OfAMessageSetAreItsItems) {
  // An item with type id 100000 whose message is x = 5, and one whose type is not declared.
  const std::string wire = from_hex("0b 10 a0 8d 06 1a 02 08 05 0c") + from_hex("0b 10 07 1a 00 0c");
  EXPECT_EQ(extensions_of("t.Set", wire), "t.Item.in_set { x: 5 }; unknown 0b 10 07 1a 00 0c ");
  TestObject object(schema.type("t.Set"));
  ASSERT_TRUE(object.decode(wire).ok());
  EXPECT_EQ(object.text(), "[t.Item] {\n  x: 5\n}\n7: \"\"\n");
}

}  // namespace
}  // namespace drover::message
