#include <gtest/gtest.h>

#include "json/json_testing.h"

namespace drover::json {
namespace {

using testing::Object;

std::string printed(std::string_view text, const PrintOptions& options, std::string_view name = "jt.Mapping") {
  Object object(name);
  const Result result = object.parse(text);
  EXPECT_TRUE(result.ok()) << to_string(result);
  return object.print(options);
}

TEST(Print, IndentsWhenTold) {
  EXPECT_EQ(printed(R"({"anInt32":1,"manyInt32":[1,2],"aMapping":{},"stringToInt32":{"a":1}})", {.indent = 2}),
            "{\n"
            "  \"anInt32\": 1,\n"
            "  \"aMapping\": {},\n"
            "  \"manyInt32\": [\n"
            "    1,\n"
            "    2\n"
            "  ],\n"
            "  \"stringToInt32\": {\n"
            "    \"a\": 1\n"
            "  }\n"
            "}");
  EXPECT_EQ(printed("{}", {.indent = 2}), "{}");
  EXPECT_EQ(printed(R"({"any":{"@type":"a/google.protobuf.Int32Value","value":1},"struct":{"a":[]}})", {.indent = 1}),
            "{\n"
            " \"any\": {\n"
            "  \"@type\": \"a/google.protobuf.Int32Value\",\n"
            "  \"value\": 1\n"
            " },\n"
            " \"struct\": {\n"
            "  \"a\": []\n"
            " }\n"
            "}");
}

TEST(Print, UsesTheNamesAndEnumFormsItIsTold) {
  const char* text = R"({"anInt32":1,"other-name":"x","aColor":"RED","manyColor":["NEGATIVE",5],"null":null})";
  EXPECT_EQ(printed(text, {}), R"({"anInt32":1,"aColor":"RED","other-name":"x","manyColor":["NEGATIVE",5]})");
  EXPECT_EQ(printed(text, {.preserve_proto_field_names = true}),
            R"({"an_int32":1,"a_color":"RED","renamed":"x","many_color":["NEGATIVE",5]})");
  EXPECT_EQ(printed(text, {.enums_as_ints = true}), R"({"anInt32":1,"aColor":1,"other-name":"x","manyColor":[-3,5]})");
}

TEST(Print, PrintsFieldsWithoutPresenceWhenTold) {
  const std::string text = printed("{}", {.always_print_fields_without_presence = true});
  EXPECT_EQ(text,
            R"({"anInt32":0,"anInt64":"0","aUint32":0,"aUint64":"0","aSint32":0,"aSint64":"0","aFixed32":0,)"
            R"("aFixed64":"0","aSfixed32":0,"aSfixed64":"0","aFloat":0,"aDouble":0,"aBool":false,"aString":"",)"
            R"("someBytes":"","aColor":"COLOR_NONE","other-name":"","manyInt32":[],"manyInt64":[],"manyDouble":[],)"
            R"("manyBool":[],"manyString":[],"manyBytes":[],"manyColor":[],"manyMapping":[],"manyFloat":[],)"
            R"("stringToInt32":{},"int32ToString":{},"boolToColor":{},"uint64ToMapping":{},"sint64ToBytes":{},)"
            R"("fixed32ToDouble":{},"stringToValue":{},"int64ToTime":{},"stringToNull":{},"null":null,"manyTime":[],)"
            R"("manyValue":[],"manyAny":[],"manyInt32Wrapper":[]})");
  EXPECT_EQ(printed("{}", {.always_print_fields_without_presence = true}, "jt2.Mapping"),
            R"({"manyClosed":[],"stringToClosed":{},"groups":[]})");
}

TEST(Print, EscapesStrings) {
  EXPECT_EQ(printed(R"({"aString":"\"\\\/\b\f\n\r\t\u0000\u001f\u007f<>'"})", {}),
            "{\"aString\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f<>'\"}");
  EXPECT_EQ(printed(R"({"stringToInt32":{"\"\u00e4":1}})", {}), "{\"stringToInt32\":{\"\\\"\xc3\xa4\":1}}");
}

TEST(Print, ReplacesBytesThatAreNoUtf8) {
  Object object("jt2.Mapping");  // proto2: the string is not checked
  ASSERT_TRUE(object
                  .decode("\x12\x0a"
                          "a\xff\xc3\xa4\xe2\x82\"b\xf0\x9f")
                  .ok());
  EXPECT_EQ(object.print(),
            "{\"aString\":\"a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\\\"b\xef\xbf\xbd\xef\xbf\xbd\"}");
}

TEST(Print, PrintsPresentFieldsEvenWhereTheyHoldTheirDefault) {
  EXPECT_EQ(printed(R"({"anInt32":0,"maybeInt32":0,"maybeString":"","chosenInt32":0,"aDouble":-0.0})", {}),
            R"({"aDouble":-0.0,"maybeInt32":0,"maybeString":"","chosenInt32":0})");
  EXPECT_EQ(printed(R"({"anInt32":5})", {}, "jt2.Mapping"), R"({"anInt32":5})");
}

TEST(Print, LimitsNesting) {
  std::string text = "{}";
  for (int i = 0; i < 20; ++i) text = "{\"aMapping\":" + text + "}";
  Object object("jt.Mapping");
  ASSERT_TRUE(object.parse(text).ok());
  EXPECT_EQ(object.print({.depth_limit = 21}), text);
  std::string out = "before";
  const Result result = print(object.type(), *object.get(), {.depth_limit = 20}, &out);
  EXPECT_EQ(result.error, Error::kDepthLimit);
  EXPECT_EQ(out, "before");
}

TEST(Print, GivesNoUnknownFields) {
  Object object("jt.Mapping");
  ASSERT_TRUE(object.decode("\x08\x01\xc0\x3e\x05").ok());
  EXPECT_FALSE(object.get()->drover_unknown().empty());
  EXPECT_EQ(object.print(), R"({"anInt32":1})");
}

}  // namespace
}  // namespace drover::json
