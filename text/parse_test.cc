// The forms of the language, and the errors with their places.
#include <gtest/gtest.h>

#include "text/text_testing.h"

namespace drover::text {
namespace {

using testing::Object;
using testing::through;

TEST(TextParse, ReadsEveryFormOfANumber) {
  EXPECT_EQ(through("x.All", "i32: 0x1F u32: 017 i64: -9223372036854775808 u64: 18446744073709551615"),
            "i32: 31 u32: 15 i64: -9223372036854775808 u64: 18446744073709551615");
  EXPECT_EQ(through("x.All", "i32: - 5 # a comment\n, u32: 0"), "i32: -5 u32: 0");
  EXPECT_EQ(through("x.All", "real32: 1.5f real64: .5"), "real32: 1.5 real64: 0.5");
  EXPECT_EQ(through("x.All", "real32: 1e400 real64: -Infinity"), "real32: inf real64: -inf");
  EXPECT_EQ(through("x.All", "real32: 3.4028236e+38 real64: 1e-400"), "real32: inf real64: 0");
  EXPECT_EQ(through("x.All", "real32: NaN real64: 99999999999999999999"), "real32: nan real64: 1e+20");
}

TEST(TextParse, ReadsBoolsAndEnums) {
  for (const char* text : {"flag: true", "flag: True", "flag: t", "flag: 1", "flag: 0x1"}) {
    EXPECT_EQ(through("x.All", text), "flag: true");
  }
  EXPECT_EQ(through("x.All", "flag: False e: NEGATIVE es: [1, -5]"), "flag: false e: NEGATIVE es: ONE es: NEGATIVE");
  EXPECT_EQ(through("y.All", "e: 99"), "e: 99");
  EXPECT_EQ(through("x.All", "e: 99"), "unknown enum value at 1:4, in e: expected a value of x.E");
  EXPECT_EQ(through("x.All", "e: 99 e: ONE es: [OTHER, ONE]", {.allow_unknown_enum = true}), "e: ONE es: ONE");
}

TEST(TextParse, ReadsStringsWithEscapesInPieces) {
  EXPECT_EQ(through("x.All", R"(s: "a" 'b"' "\a\b\f\n\r\t\v\\\?\'\"" b: "\1\12\1234\xf\xffg\X41")"),
            R"(s: "ab\"\007\010\014\n\r\t\013\\?\'\"" b: "\001\nS4\017\377gA")");
  EXPECT_EQ(through("x.All", R"(b: "\u00e4\U0001F600")"), R"(b: "\303\244\360\237\230\200")");
  EXPECT_EQ(through("y.All", R"(s: "\xff")"), "bad UTF-8 at 1:4, in s: expected UTF-8 in a string");
  for (const char* text : {R"(b: "\ud83d\ude00")", R"(s: "\ud83d")", R"(s: "\U0000de00")", R"(s: "\U00110000")"}) {
    EXPECT_EQ(Object("y.All").parse(text).error, Error::kSyntax) << text;
  }
  // The first and last of each length, beside surrogates, and the last of all; by escapes and as they are.
  const std::string printed =
      R"(s: "\177\302\200\337\277\340\240\200\355\237\277\356\200\200\357\277\277\360\220\200\200\364\217\277\277")";
  EXPECT_EQ(through("y.All", R"(s: "\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff")"), printed);
  EXPECT_EQ(through("y.All", "s: \"\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\""), printed);
  EXPECT_EQ(Object("y.All").parse("s: \"\xf4\x90\x80\x80\"").error, Error::kBadUtf8) << "U+110000";
  EXPECT_EQ(through("x.All", "s: \"a\nb\""), "syntax error at 1:6, in s: expected a closing quote");
  EXPECT_EQ(through("x.All", R"(s: "a\q")"),
            R"(syntax error at 1:6, in s: expected an escape like \n, \377, \xff, \u00ff or \U0010ffff)");
}

TEST(TextParse, ReadsMessagesListsMapsAndGroups) {
  EXPECT_EQ(through("x.All", "all { i32: 1 } alls: < > alls [{i32: 2}, <s: 'a'>] Group { i32: 3 } many: [{}]"),
            "Group { i32: 3 } Many { } all { i32: 1 } alls { } alls { i32: 2 } alls { s: \"a\" }");
  EXPECT_EQ(through("x.All", "to_i32 { value: 1 key: 'b' } to_i32 [{ key: 'a' value: 2 }, { key: 'b' value: 3 }, {}]"),
            R"(to_i32 { key: "" value: 0 } to_i32 { key: "a" value: 2 } to_i32 { key: "b" value: 3 })");
  EXPECT_EQ(through("x.All", "to_all { key: 1 value { s: 'a' } } to_all { key: 2 }"),
            "to_all { key: 1 value { s: \"a\" } } to_all { key: 2 value { } }");
  EXPECT_EQ(through("x.All", "i32s: [] i32s: 1; i32s: [2, 3]"), "i32s: 1 i32s: 2 i32s: 3");
}

TEST(TextParse, RefusesAZeroByteAlsoInAComment) {
  Object object("x.All");
  EXPECT_TRUE(object.parse("i32: 1 # \x01 \xff").ok());
  const Result result = object.parse(std::string_view("# a\0b", 5));
  EXPECT_EQ(result.error, Error::kSyntax);
  EXPECT_EQ(result.offset, 3u);
}

TEST(TextParse, ReadsExtensionsMessageSetsAndAnys) {
  EXPECT_EQ(through("x.All", "[x.number]: 5 [ x . texts ]: 'a' [x.texts]: ['b'] set { [x.Scope] { a: 1 } }"),
            R"(set { [x.Scope] { a: 1 } } [x.number]: 5 [x.texts]: "a" [x.texts]: "b")");
  EXPECT_EQ(through("x.All", "[x.nothing]: 5"),
            "unknown extension at 1:1, in [x.nothing]: expected an extension of x.All");
  EXPECT_EQ(through("x.All", "[x.nothing]: 5 i32: 1", {.allow_unknown_extension = true}), "i32: 1");
  EXPECT_EQ(through("y.All", "any { [type.googleapis.com/x.All] { i32: 1 } }"),
            "any { [type.googleapis.com/x.All] { i32: 1 } }");
  EXPECT_EQ(through("y.All", "any { [example.com/a-b/x.All] { i32: 1 } }"),
            "any { type_url: \"example.com/a-b/x.All\" value: \"\\010\\001\" }");
  EXPECT_EQ(
      through("y.All", "any { [type.googleapis.com/x.None] { } }"),
      "unknown type at 1:7, in any.[type.googleapis.com/x.None]: expected a type URL, \"type.googleapis.com/\" and "
      "a known message's name");
  EXPECT_EQ(through("y.All", "any { [type.googleapis.com/x.Needy] { } }"),
            "missing required field at 1:7, in any.[type.googleapis.com/x.Needy]: expected all required fields");
}

TEST(TextParse, AFieldAndAOneofAreSetOnceUnlessOverwritesAreAllowed) {
  EXPECT_EQ(through("x.All", "i32: 1 i32: 2"), "duplicate field at 1:8, in i32: expected each singular field once");
  EXPECT_EQ(through("x.All", "one: 1 two: 'a'"),
            "duplicate member of a oneof at 1:8, in two: expected one member of a oneof");
  EXPECT_EQ(through("x.All", "[x.number]: 1 [x.number]: 2"),
            "duplicate field at 1:15, in [x.number]: expected each singular field once");
  EXPECT_EQ(through("x.All", "i32: 1 i32: 2 one: 1 two: 'a' all { i32: 1 } all { s: 'b' }", {.allow_overwrites = true}),
            "i32: 2 all { i32: 1 s: \"b\" } two: \"a\"");
}

TEST(TextParse, FieldsGoByNumbersAndOtherCasesOnRequest) {
  EXPECT_EQ(through("x.All", "1: 5 100: 6 i32s: 1", {.allow_field_number = true}), "i32: 5 i32s: 1 [x.number]: 6");
  EXPECT_EQ(through("x.All", "1: 5"), "syntax error at 1:1: expected a field's name");
  EXPECT_EQ(through("x.All", "I32: 5 CAMELCASE { somenumber: 1 }", {.allow_any_case = true}),
            "i32: 5 camelCase { someNumber: 1 }");
  EXPECT_EQ(through("x.All", "I32: 5"), "unknown field at 1:1, in I32: expected a field of x.All");
}

TEST(TextParse, SkipsUnknownFieldsOnRequest) {
  EXPECT_EQ(through("x.All",
                    "u: 1 v: -inf w: 'a' \"b\" x: [1, {}, [2]], y { f < g: x >; [h/i.j] {} } 77: ENUM [k.l]: 2 i32: 1",
                    {.allow_unknown_field = true}),
            "i32: 1");
  EXPECT_EQ(through("x.All", "u: -foo", {.allow_unknown_field = true}),
            "wrong type at 1:5: expected a decimal number, inf or nan");
}

TEST(TextParse, ErrorsNameThePlaceAndTheField) {
  EXPECT_EQ(through("x.All", "alls {}\nalls {\n  all { i32: 4294967296 } }"),
            "out of range at 3:14, in alls[1].all.i32: expected an integer of at most 2147483647");
  EXPECT_EQ(through("x.All", "to_all { key: 7 value { s: 1 } }"),
            "wrong type at 1:28, in to_all[7].value.s: expected a string in quotes");
  EXPECT_EQ(through("x.All", "i32 5"), "syntax error at 1:5, in i32: expected ':'");
  EXPECT_EQ(through("x.All", "all { i32: 1 >"), "syntax error at 1:14, in all: expected a field or '}'");
  EXPECT_EQ(through("x.All", "i32: 1x"),
            "syntax error at 1:7, in i32: expected a blank or a separator behind a number");
  EXPECT_EQ(through("x.Needy", ""), "missing required field in needed");
  EXPECT_EQ(through("x.Needy", "", {.allow_partial = true}), "");
}

TEST(TextParse, DepthIsLimited) {
  auto nested = [](const std::string& open, int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += open;
    return text + std::string(static_cast<size_t>(levels), '}');
  };
  ParseOptions options{.allow_partial = true, .allow_unknown_field = true};
  ParseOptions deep = options;
  deep.depth_limit = 1 << 30;
  auto parsed = [&](const std::string& text, const ParseOptions& with) {
    return Object("x.All").parse(text, with).error;
  };
  for (const char* open : {"all{", "[x.Scope.inside]{", "unknown{"}) {
    EXPECT_EQ(parsed(nested(open, 100), options), Error::kOk) << open;
    EXPECT_EQ(parsed(nested(open, 101), options), Error::kDepthLimit) << open;
    EXPECT_EQ(parsed(nested(open, kMostDepth), deep), Error::kOk) << open;
    EXPECT_EQ(parsed(nested(open, 100000), deep), Error::kDepthLimit) << open;
  }
  // Required fields are looked for in fewer levels of extensions.
  EXPECT_EQ(parsed(nested("[x.Scope.inside]{", 90), {}), Error::kOk);
  EXPECT_EQ(parsed(nested("[x.Scope.inside]{", 100), {}), Error::kDepthLimit);
}

}  // namespace
}  // namespace drover::text
