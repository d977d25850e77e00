// The text format beside protobuf C++'s DebugString.
#include "message/message_testing.h"

namespace drover::message {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

using DebugTextTest = RandomMessagesTest;

TEST_P(DebugTextTest, IsProtobufsForRandomMessages) {
  for_messages([&](const std::string& name) {
    Pair one = pair(name);
    const schema::MessageType type = one.object.type();
    ASSERT_EQ(debug_text(type, *one.object.get(), {}), one.peer->DebugString());
    EXPECT_EQ(debug_text(type, *one.object.get(), {.one_line = true}), one.peer->ShortDebugString());
    EXPECT_EQ(debug_text(type, *one.object.get(), {.keep_utf8 = true}), one.peer->Utf8DebugString());
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, DebugTextTest, random_seeds());

std::string text_of(const std::string& wire, const TextOptions& options = {.one_line = true}) {
  TestObject object(every_schema().type("t.Every"));
  EXPECT_TRUE(object.decode(wire).ok());
  return debug_text(object.type(), *object.get(), options);
}

TEST(DebugText, NamesGroupsByTheirTypesAndEnumValuesByTheirNames) {
  EXPECT_EQ(text_of(from_hex("53 08 05 54 70 01 92 07 01 00")), "G10 { a: 5 } f14: ONE r14: ZERO");
}

TEST(DebugText, EscapesStringsAndKeepsUtf8OnRequest) {
  const std::string wire = "\x4a\x08" + std::string("a\n\"\xc3\xa4\x01'\\", 8);
  EXPECT_EQ(text_of(wire), R"(f9: "a\n\"\303\244\001\'\\")");
  EXPECT_EQ(text_of(wire, {.one_line = true, .keep_utf8 = true}), "f9: \"a\\n\\\"\xc3\xa4\\001\\'\\\\\"");
}

TEST(DebugText, PrintsRealsWithTheFewestDigitsThatReadBack) {
  EXPECT_EQ(text_of(from_hex("09 9a9999999999b93f 15 cdcccc3d")), "f1: 0.1 f2: 0.1");
  EXPECT_EQ(text_of(from_hex("09 000000000000f0ff 15 0000c07f")), "f1: -inf f2: nan");
}

TEST(DebugText, PrintsUnknownFieldsByNumberAndMessagesInThemAsMessages) {
  // 4000: varint 7, fixed32, fixed64, a message with field 1 = 5, a text, a group.
  EXPECT_EQ(text_of(from_hex("80 fa01 07 85 fa01 01000000 81 fa01 0200000000000000 82 fa01 02 0805") +
                    from_hex("82 fa01 01 ff 83 fa01 08 06 84 fa01")),
            "4000: 7 4000: 0x00000001 4000: 0x0000000000000002 4000 { 1: 5 } 4000: \"\\377\" 4000 { 1: 6 }");
}

TEST(DebugText, IndentsTwoBlanksALevel) {
  EXPECT_EQ(text_of(from_hex("5a 04 5a 02 28 01"), {}), "f11 {\n  f11 {\n    f5: 1\n  }\n}\n");
}

}  // namespace
}  // namespace drover::message
