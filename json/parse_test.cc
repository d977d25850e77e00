#include <gtest/gtest.h>

#include "json/json_testing.h"
#include "object/arena.h"

namespace drover::json {
namespace {

using testing::Object;
using testing::through;

TEST(Parse, TakesEveryScalarInItsOwnForm) {
  Object object("jt.Mapping");
  const Result result = object.parse(R"({
    "anInt32": -1, "anInt64": "-2", "aUint32": 3, "aUint64": "18446744073709551615", "aSint32": -5, "aSint64": -6,
    "aFixed32": 7, "aFixed64": "8", "aSfixed32": -9, "aSfixed64": "-10", "aFloat": 1.5, "aDouble": -2.25e3,
    "aBool": true, "aString": "s\u00e4", "someBytes": "AQID", "aColor": "GREEN"
  })");
  EXPECT_EQ(to_string(result), "ok");
  EXPECT_EQ(object.text(),
            "an_int32: -1 an_int64: -2 a_uint32: 3 a_uint64: 18446744073709551615 a_sint32: -5 a_sint64: -6 "
            "a_fixed32: 7 a_fixed64: 8 a_sfixed32: -9 a_sfixed64: -10 a_float: 1.5 a_double: -2250 a_bool: true "
            "a_string: \"s\\303\\244\" some_bytes: \"\\001\\002\\003\" a_color: GREEN");
}

TEST(Parse, TakesNumbersInQuotesAndWithExponents) {
  EXPECT_EQ(through(R"({"anInt32":"1e2","anInt64":12.0,"aDouble":"-1.5","aFloat":"Infinity"})"),
            R"({"anInt32":100,"anInt64":"12","aFloat":"Infinity","aDouble":-1.5})");
  EXPECT_EQ(through(R"({"aDouble":"NaN","aFloat":"-Infinity"})"), R"({"aFloat":"-Infinity","aDouble":"NaN"})");
}

TEST(Parse, TakesFieldsUnderEitherOfTheirNames) {
  EXPECT_EQ(through(R"({"an_int32":1,"other-name":"a"})"), R"({"anInt32":1,"other-name":"a"})");
  EXPECT_EQ(through(R"({"renamed":"a"})"), R"({"other-name":"a"})");
}

TEST(Parse, TakesListsAndMapsOfAllKinds) {
  const std::string text =
      R"({"manyInt32":[1,2],"manyInt64":["3"],"manyDouble":[0.5,"NaN"],"manyBool":[true,false],)"
      R"("manyString":["a","b\n"],"manyBytes":["AQ==",""],"manyColor":["RED",7],"manyMapping":[{},{"anInt32":1}],)"
      R"("stringToInt32":{"a":1,"":2},"int32ToString":{"-1":"a"},"boolToColor":{"true":"RED","false":"NEGATIVE"},)"
      R"("uint64ToMapping":{"18446744073709551615":{"aBool":true}},"sint64ToBytes":{"-9223372036854775808":"AQ=="},)"
      R"("fixed32ToDouble":{"4294967295":1.5}})";
  EXPECT_EQ(through(text), text);
}

TEST(Parse, LeavesNullFieldsUnset) {
  EXPECT_EQ(through(R"({"anInt32":null,"aString":null,"aMapping":null,"manyInt32":null,"stringToInt32":null,
                        "aColor":null,"maybeInt32":null,"chosenInt32":null,"time":null,"int32Wrapper":null,
                        "struct":null,"list":null,"any":null})"),
            "{}");
}

TEST(Parse, RefusesNullInListsAndMaps) {
  EXPECT_EQ(through(R"({"manyInt32":[1,null]})"), "wrong type at 1:17, in manyInt32[1]: expected a number");
  EXPECT_EQ(through(R"({"manyMapping":[null]})"), "wrong type at 1:17, in manyMapping[0]: expected no null in a list");
  EXPECT_EQ(through(R"({"manyString":[null]})"), "wrong type at 1:16, in manyString[0]: expected a string");
  EXPECT_EQ(through(R"({"stringToInt32":{"a":null}})"),
            "wrong type at 1:23, in stringToInt32[\"a\"]: expected no null in a map");
}

TEST(Parse, SaysWhereItWentWrongAndWhatWasExpected) {
  EXPECT_EQ(through("{\n  \"manyMapping\": [{}, {\"anInt32\": true}]\n}"),
            "wrong type at 2:35, in manyMapping[1].anInt32: expected a number");
  Object object("jt.Mapping");
  const Result result = object.parse("{\"uint64ToMapping\":{\"5\":{\"aMapping\":{\"aBool\":1}}}}");
  EXPECT_EQ(result.error, Error::kWrongType);
  EXPECT_EQ(result.path, "uint64ToMapping[5].aMapping.aBool");
  EXPECT_EQ(result.offset, 45u);
  EXPECT_EQ(result.line, 1u);
  EXPECT_EQ(result.column, 46u);
  EXPECT_EQ(result.expected, "true or false");
}

TEST(Parse, RefusesValuesOfOtherTypes) {
  EXPECT_EQ(through(R"({"aString":1})"), "wrong type at 1:12, in aString: expected a string");
  EXPECT_EQ(through(R"({"aBool":"true"})"), "wrong type at 1:10, in aBool: expected true or false");
  EXPECT_EQ(through(R"({"anInt32":"a"})"), "wrong type at 1:12, in anInt32: expected a number");
  EXPECT_EQ(through(R"({"anInt32":0.5})"), "wrong type at 1:12, in anInt32: expected an integer of 32 bits");
  EXPECT_EQ(through(R"({"anInt32":[]})"), "wrong type at 1:12, in anInt32: expected a number");
  EXPECT_EQ(through(R"({"manyInt32":1})"), "wrong type at 1:14, in manyInt32: expected an array");
  EXPECT_EQ(through(R"({"aMapping":[]})"), "wrong type at 1:13, in aMapping: expected an object");
  EXPECT_EQ(through(R"({"stringToInt32":[]})"), "wrong type at 1:18, in stringToInt32: expected an object");
  EXPECT_EQ(through(R"({"boolToColor":{"1":"RED"}})"),
            "wrong type at 1:17, in boolToColor: expected \"true\" or \"false\" as a key");
  EXPECT_EQ(through(R"({"int32ToString":{"a":"b"}})"),
            "wrong type at 1:19, in int32ToString: expected an integer, in quotes, as a key");
  EXPECT_EQ(through(R"({"int32ToString":{"1e0":"b"}})"),
            "wrong type at 1:19, in int32ToString: expected an integer, in quotes, as a key");
  EXPECT_EQ(through(R"({"someBytes":"a"})"), "bad value at 1:14, in someBytes: expected base64");
  EXPECT_EQ(through("[]"), "wrong type at 1:1: expected an object");
}

TEST(Parse, RefusesNumbersThatAreTooLarge) {
  EXPECT_EQ(through(R"({"anInt32":2147483648})"), "out of range at 1:12, in anInt32: expected an integer of 32 bits");
  EXPECT_EQ(through(R"({"aUint32":-1})"), "out of range at 1:12, in aUint32: expected an unsigned integer of 32 bits");
  EXPECT_EQ(through(R"({"aFloat":1e39})"), "out of range at 1:11, in aFloat: expected a float");
  EXPECT_EQ(through(R"({"aDouble":1e309})"), "out of range at 1:12, in aDouble: expected a double");
}

TEST(Parse, RefusesWhatIsNoJson) {
  for (const char* bad :
       {"", "{", "}", "{\"anInt32\"}", "{\"anInt32\":}", "{\"anInt32\":1,}", "{\"anInt32\":1}}", "{\"anInt32\":01}",
        "{'anInt32':1}", "{anInt32:1}", "{\"anInt32\":1 \"aBool\":true}", "{\"manyInt32\":[1,]}", "{\"manyInt32\":[1}",
        "{} {}", "{\"aBool\":tru}", "/**/{}", "{\"aDouble\":NaN}", "{\"aString\":\"\t\"}", "\xef\xbb\xbf{}"}) {
    Object object("jt.Mapping");
    const Result result = object.parse(bad);
    EXPECT_TRUE(result.error == Error::kSyntax || result.error == Error::kWrongType) << bad << to_string(result);
  }
  EXPECT_EQ(through("{\"aString\":\"\\ud800\"}"),
            "bad UTF-8 at 1:13, in aString: expected a high surrogate with its low one behind it");
}

TEST(Parse, RefusesAFieldThatComesTwice) {
  EXPECT_EQ(through(R"({"anInt32":1,"anInt32":1})"), "duplicate field at 1:14, in anInt32: expected each field once");
  EXPECT_EQ(through(R"({"anInt32":1,"an_int32":1})"), "duplicate field at 1:14, in anInt32: expected each field once");
  EXPECT_EQ(through(R"({"anInt32":null,"anInt32":1})"), R"({"anInt32":1})");
  EXPECT_EQ(through(R"({"chosenInt32":1,"chosenString":"a"})"),
            "duplicate member of a oneof at 1:18, in chosenString: expected one member of a oneof");
  EXPECT_EQ(through(R"({"chosenInt32":null,"chosenString":"a"})"), R"({"chosenString":"a"})");
  EXPECT_EQ(through(R"({"stringToInt32":{"a":1,"a":1}})"),
            "duplicate map key at 1:25, in stringToInt32[\"a\"]: expected each key once");
}

TEST(Parse, RefusesUnknownNamesUnlessToldToIgnoreThem) {
  const ParseOptions ignore{.ignore_unknown = true};
  EXPECT_EQ(through(R"({"aMapping":{"nothing":1}})"),
            "unknown field at 1:14, in aMapping.nothing: expected a field of jt.Mapping");
  EXPECT_EQ(through(R"({"nothing":[{"a":[1,"x"]}],"anInt32":1,"[a.b]":{}})", ignore), R"({"anInt32":1})");
  EXPECT_EQ(through(R"({"nothing":[1,]})", ignore), "syntax error at 1:15: expected a JSON value");
  EXPECT_EQ(through(R"({"aColor":"BLUE"})"), "unknown enum value at 1:11, in aColor: expected a value of jt.Color");
  EXPECT_EQ(through(R"({"aColor":"BLUE","manyColor":["RED","BLUE"],"boolToColor":{"true":"BLUE"}})", ignore),
            R"({"manyColor":["RED"]})");
}

TEST(Parse, TakesEveryNameOfAnEnumsValue) {
  EXPECT_EQ(through(R"({"aColor":"VERT","manyColor":["GREEN","VERT"]})"),
            R"({"aColor":"GREEN","manyColor":["GREEN","GREEN"]})");
}

TEST(Parse, KeepsUnknownNumbersOfOpenEnums) {
  EXPECT_EQ(through(R"({"aColor":77,"manyColor":["-3","RED",1]})"),
            R"({"aColor":77,"manyColor":["NEGATIVE","RED","RED"]})");
}

TEST(Parse, KeepsUnknownNumbersOfClosedEnumsAsTheWireFormatDoes) {
  Object object("jt2.Mapping"), again("jt2.Mapping");
  EXPECT_EQ(to_string(object.parse(R"({"closed":9,"manyClosed":["FIRST",9,2],"stringToClosed":{"a":9,"b":"SECOND"}})")),
            "ok");
  EXPECT_EQ(object.print(), R"({"manyClosed":["FIRST","SECOND"],"stringToClosed":{"b":"SECOND"}})");
  ASSERT_TRUE(again.decode(object.encode()).ok());
  EXPECT_TRUE(again.equals(object)) << object.text() << " / " << again.text();
  EXPECT_FALSE(object.get()->drover_unknown().empty());
}

TEST(Parse, ReadsProto2MessagesWithGroupsUnderTheirFieldNames) {
  EXPECT_EQ(through("jt2.Mapping", R"({"agroup":{"a":1,"again":{"anInt32":0}},"groups":[{"b":1},{}],"aString":""})"),
            R"({"aString":"","agroup":{"a":1,"again":{"anInt32":0}},"groups":[{"b":1},{}]})");
}

TEST(Parse, AsksForRequiredFieldsOnlyWhenTold) {
  EXPECT_EQ(through("jt2.Needy", R"({"below":{}})"), R"({"below":{}})");
  const ParseOptions check{.check_required = true};
  EXPECT_EQ(through("jt2.Needy", R"({"a":1,"below":{}})", check), "missing required field in below.a");
  EXPECT_EQ(through("jt2.Needy", R"({"a":1,"below":{"a":2}})", check), R"({"a":1,"below":{"a":2}})");
}

TEST(Parse, MergesIntoWhatIsThere) {
  Object object("jt.Mapping");
  ASSERT_TRUE(object
                  .parse(R"({"anInt32":1,"manyInt32":[1],"stringToInt32":{"a":1,"b":2},"aMapping":{"aBool":true},
                               "chosenString":"a longer string than a number"})")
                  .ok());
  ASSERT_TRUE(object
                  .parse(R"({"anInt32":2,"manyInt32":[2],"stringToInt32":{"b":3,"c":4},"aMapping":{"aFloat":1},
                               "chosenInt32":5})")
                  .ok());
  EXPECT_EQ(object.print(), R"({"anInt32":2,"aMapping":{"aFloat":1,"aBool":true},"manyInt32":[1,2],)"
                            R"("stringToInt32":{"a":1,"b":3,"c":4},"chosenInt32":5})");
  EXPECT_EQ(object.parse(R"({"stringToInt32":{"a":1,"a":2}})").error, Error::kDuplicateKey);
}

// ---- limits

std::string nested(int depth, const std::string& open, const std::string& inside, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += inside;
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Parse, LimitsNesting) {
  auto error = [](const std::string& text, const ParseOptions& options = {}) {
    return Object("jt.Mapping").parse(text, options).error;
  };
  EXPECT_EQ(error(nested(99, "{\"aMapping\":", "{}", "}")), Error::kOk);
  EXPECT_EQ(error(nested(100, "{\"aMapping\":", "{}", "}")), Error::kDepthLimit);
  EXPECT_EQ(error("{\"value\":" + nested(99, "[", "", "]") + "}"), Error::kOk);
  EXPECT_EQ(error("{\"value\":" + nested(100, "[", "", "]") + "}"), Error::kDepthLimit);
  EXPECT_EQ(error("{\"nothing\":" + nested(100, "[", "", "]") + "}", {.ignore_unknown = true}), Error::kDepthLimit);
  EXPECT_EQ(error("{\"value\":" + nested(100000, "[", "", "]") + "}", {.depth_limit = 1 << 30}), Error::kDepthLimit);
  EXPECT_EQ(error("{\"value\":" + nested(300, "[", "", "]") + "}", {.depth_limit = 1000}), Error::kOk);
  EXPECT_EQ(error("{\"anInt32\":1}", {.depth_limit = 0}), Error::kDepthLimit);
}

// Blocks from the heap, up to a given number of bytes.
class LimitedSource final : public BlockSource {
 public:
  explicit LimitedSource(size_t bytes) : left_(bytes) {}
  Block allocate_block(size_t min_size) override {
    if (min_size > left_) return {};
    left_ -= min_size;
    return heap_block_source().allocate_block(min_size);
  }
  void free_block(void* data, size_t size) override { heap_block_source().free_block(data, size); }

 private:
  size_t left_;
};

TEST(Parse, SaysSoWhenTheArenaHasNoMore) {
  const schema::MessageType type = testing::type_named("jt.Mapping");
  std::string texts[] = {
      "{\"aString\":\"" + std::string(100000, 'x') + "\"}",
      "{\"someBytes\":\"" + std::string(100000, 'A') + "\"}",
      "{\"manyInt32\":[1" + nested(50000, ",1", "", "") + "]}",
      "{\"manyString\":[\"a\"" + nested(20000, ",\"a\"", "", "") + "]}",
      "{\"manyMapping\":[{}" + nested(2000, ",{}", "", "") + "]}",
      "{\"aMapping\":" + nested(90, "{\"aMapping\":", "{}", "}") + "}",
      "{\"any\":{\"@type\":\"a/jt.Mapping\",\"aString\":\"" + std::string(100000, 'x') + "\"}}",
  };
  std::string entries = "{\"int32ToString\":{\"0\":\"\"";
  for (int i = 1; i < 5000; ++i) entries += ",\"" + std::to_string(i) + "\":\"value\"";
  for (const std::string& text :
       {texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6], entries + "}}"}) {
    LimitedSource source(60000);
    Arena arena(source);
    auto* object = static_cast<Message*>(arena.allocate_zeroed(type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    const Result result = parse(type, text, {}, object);
    EXPECT_EQ(result.error, Error::kOutOfMemory) << text.substr(0, 40) << ": " << to_string(result);
    std::string printed;
    EXPECT_TRUE(print(type, *object, {}, &printed).ok()) << "what was read before must be whole";
  }
}

TEST(Parse, FindsNamesInMessagesWithManyFieldsInAnyOrder) {
  google::protobuf::FileDescriptorSet set;
  auto* file = set.add_file();
  file->set_name("many.proto");
  file->set_syntax("proto3");
  auto* message = file->add_message_type();
  message->set_name("Many");
  constexpr int kFields = 500;
  for (int i = 0; i < kFields; ++i) {
    auto* field = message->add_field();
    field->set_name("field_" + std::to_string(i));
    field->set_number(i + 1);
    field->set_type(google::protobuf::FieldDescriptorProto::TYPE_INT32);
    field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
    field->set_proto3_optional(false);
  }
  const schema::BuildResult built = schema::build_image(set);
  schema::OwnedImage image;
  ASSERT_TRUE(schema::OwnedImage::load(built.image, &image).ok()) << built.error;
  Object object(testing::type_named("Many", image.image()));
  std::string text = "{", expected = "{";
  for (int i = kFields - 1; i >= 0; --i) {
    text += (i % 2 == 0 ? "\"field" : "\"field_") + std::to_string(i) + "\":" + std::to_string(i + 1) +
            (i == 0 ? "}" : ",");
  }
  for (int i = 0; i < kFields; ++i) {
    expected += "\"field" + std::to_string(i) + "\":" + std::to_string(i + 1) + (i == kFields - 1 ? "}" : ",");
  }
  EXPECT_EQ(to_string(object.parse(text)), "ok");
  EXPECT_EQ(object.print(), expected);
  for (const char* bad : {"field500", "field_", "Field1", "field1x"}) {
    EXPECT_EQ(object.parse("{\"" + std::string(bad) + "\":1}").error, Error::kUnknownField) << bad;
  }
}

}  // namespace
}  // namespace drover::json
