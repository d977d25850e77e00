#include <gtest/gtest.h>

#include <cmath>

#include "json/json_testing.h"

namespace drover::json {
namespace {

using testing::Object;
using testing::through;

// Parsed and printed, the text stays as it is.
void expect_same(const std::string& text) { EXPECT_EQ(through(text), text); }

TEST(WellKnown, TimesDurationsAndMasksAreStrings) {
  expect_same(R"({"time":"2000-01-31T12:34:56.789Z","span":"-1.500s","mask":"a.fooBar,c"})");
  expect_same(R"({"int64ToTime":{"1":"1970-01-01T00:00:01Z"},"mask":"","manyTime":["1970-01-01T00:00:00Z"]})");
  EXPECT_EQ(through(R"({"time":"yesterday"})"), "bad value at 1:9, in time: expected a time, \"2000-01-31T00:00:00Z\"");
  EXPECT_EQ(through(R"({"time":{"seconds":1}})"),
            "wrong type at 1:9, in time: expected a time, \"2000-01-31T00:00:00Z\"");
  EXPECT_EQ(through(R"({"span":"1"})"), "bad value at 1:9, in span: expected a duration, \"1.5s\"");
  EXPECT_EQ(through(R"({"mask":"a,,b"})"),
            "bad value at 1:9, in mask: expected paths in camelCase with commas between");
  EXPECT_EQ(through(R"({"mask":"a,"})"), "bad value at 1:9, in mask: expected paths in camelCase with commas between");
}

TEST(WellKnown, WrappersAreTheirValues) {
  expect_same(R"({"doubleWrapper":0,"floatWrapper":1.5,"int64Wrapper":"-1","uint64Wrapper":"1","int32Wrapper":0,)"
              R"("uint32Wrapper":4294967295,"boolWrapper":false,"stringWrapper":"","bytesWrapper":"AQ==",)"
              R"("manyInt32Wrapper":[0,1]})");
  EXPECT_EQ(through(R"({"int32Wrapper":{"value":1}})"), "wrong type at 1:17, in int32Wrapper: expected a number");
}

TEST(WellKnown, ValuesStructsAndListsAreAnyJson) {
  expect_same(R"({"struct":{"a":1,"b":[true,null,"x",{"c":{}}],"":-0.5},"value":"text","list":[[],{},null,1e+100]})");
  expect_same(R"({"value":null})");
  expect_same(R"({"value":{"a":null},"manyValue":[null,1,[null]]})");
  expect_same(R"({"stringToValue":{"a":null,"b":1}})");
  expect_same(R"({"chosenValue":null})");
  EXPECT_EQ(through(R"({"value":1e999})"), "out of range at 1:10, in value: expected a double");
  EXPECT_EQ(through(R"({"struct":{"a":1,"a":2}})"),
            "duplicate map key at 1:18, in struct[\"a\"]: expected each key once");
  EXPECT_EQ(through(R"({"struct":[]})"), "wrong type at 1:11, in struct: expected an object");
  EXPECT_EQ(through(R"({"list":{}})"), "wrong type at 1:9, in list: expected an array");
}

TEST(WellKnown, NullValuesAreNull) {
  expect_same(R"({"chosenNull":null})");
  EXPECT_EQ(through(R"({"chosenNull":"NULL_VALUE"})"), R"({"chosenNull":null})");
  EXPECT_EQ(through(R"({"chosenNull":0})"), R"({"chosenNull":null})");
  EXPECT_EQ(through(R"({"null":null})"), "{}");
  expect_same(R"({"stringToNull":{"a":null}})");
}

TEST(WellKnown, EmptyIsAnObject) {
  expect_same(R"({"empty":{}})");
  EXPECT_EQ(through(R"({"empty":{"a":1}})"),
            "unknown field at 1:11, in empty.a: expected a field of google.protobuf.Empty");
}

TEST(WellKnown, StandAtTheTopAsWell) {
  EXPECT_EQ(through("google.protobuf.Timestamp", "\"1970-01-01T00:00:01Z\""), "\"1970-01-01T00:00:01Z\"");
  EXPECT_EQ(through("google.protobuf.Value", "null"), "null");
  EXPECT_EQ(through("google.protobuf.Int64Value", "5"), "\"5\"");
  EXPECT_EQ(through("google.protobuf.ListValue", " [ 1 ] "), "[1]");
  EXPECT_EQ(through("google.protobuf.Timestamp", "null"),
            "wrong type at 1:1: expected a time, \"2000-01-31T00:00:00Z\"");
}

// ---- values without text

TEST(WellKnown, RefusesToPrintWhatWouldNotComeBack) {
  auto wire_of = [](auto fill) {
    jt::Mapping message;
    fill(&message);
    Object object("jt.Mapping");
    EXPECT_TRUE(object.decode(message.SerializeAsString()).ok());
    return object.print();
  };
  EXPECT_EQ(wire_of([](jt::Mapping* m) { m->mutable_time()->set_nanos(-1); }),
            "bad value in time: expected a time of the years 1 to 9999, and nanos of 0 to 999999999");
  EXPECT_EQ(wire_of([](jt::Mapping* m) { m->mutable_span()->set_seconds(1), m->mutable_span()->set_nanos(-1); }),
            "bad value in span: expected at most 315576000000 seconds, and nanos of the same sign");
  EXPECT_EQ(wire_of([](jt::Mapping* m) { m->mutable_mask()->add_paths("fooBar"); }),
            "bad value in mask: expected field paths of small letters, digits and single '_' in front of a letter");
  EXPECT_EQ(wire_of([](jt::Mapping* m) { m->mutable_list()->add_values()->set_number_value(INFINITY); }),
            "bad value in list[0]: expected a finite number in a Value");
  EXPECT_EQ(wire_of([](jt::Mapping* m) { m->mutable_value(); }),
            "bad value in value: expected a Value with one of its members set");
  EXPECT_EQ(wire_of([](jt::Mapping* m) { (*m->mutable_string_to_value())["a"].set_number_value(NAN); }),
            "bad value in stringToValue[\"a\"]: expected a finite number in a Value");
}

// ---- Any

TEST(Any, HoldsTheFieldsOfItsMessageBesideItsType) {
  expect_same(R"({"any":{"@type":"type.googleapis.com/jt.Mapping","anInt32":1,"aMapping":{"aBool":true}}})");
  expect_same(R"({"any":{"@type":"x/jt.Mapping"}})");
  expect_same(R"({"any":{}})");
  expect_same(R"({"any":{"@type":"a/google.protobuf.Empty"}})");
}

TEST(Any, HoldsWellKnownTypesUnderValue) {
  expect_same(R"({"any":{"@type":"a/google.protobuf.Duration","value":"1.500s"}})");
  expect_same(R"({"any":{"@type":"a/google.protobuf.Int32Value","value":0}})");
  expect_same(R"({"any":{"@type":"a/google.protobuf.Value","value":[1,null]}})");
  expect_same(R"({"any":{"@type":"a/google.protobuf.Any","value":{"@type":"a/jt.Mapping","anInt32":1}}})");
  EXPECT_EQ(through(R"({"any":{"@type":"a/google.protobuf.Duration"}})"),
            "bad value at 1:45, in any: expected \"value\" in the Any");
  EXPECT_EQ(through(R"({"any":{"@type":"a/google.protobuf.Duration","seconds":1}})"),
            "unknown field at 1:46, in any.seconds: expected a field of google.protobuf.Duration");
}

TEST(Any, TakesItsTypeAnywhereAmongTheFields) {
  EXPECT_EQ(through(R"({"any":{"anInt32":1,"aMapping":{"anInt32":2},"@type":"a/jt.Mapping","aBool":true}})"),
            R"({"any":{"@type":"a/jt.Mapping","anInt32":1,"aBool":true,"aMapping":{"anInt32":2}}})");
  EXPECT_EQ(through(R"({"any":{"value":1,"@type":"a/google.protobuf.Int32Value"}})"),
            R"({"any":{"@type":"a/google.protobuf.Int32Value","value":1}})");
  EXPECT_EQ(through(R"({"any":{"any":{"any":{"aBool":true,"@type":"a/jt.Mapping"},"@type":"a/jt.Mapping"},)"
                    R"("manyAny":[{"anInt32":1,"@type":"a/jt.Mapping"},{"@type":"a/jt.Mapping"},{}],)"
                    R"("@type":"a/jt.Mapping"}})"),
            R"({"any":{"@type":"a/jt.Mapping","any":{"@type":"a/jt.Mapping","any":{"@type":"a/jt.Mapping",)"
            R"("aBool":true}},"manyAny":[{"@type":"a/jt.Mapping","anInt32":1},{"@type":"a/jt.Mapping"},{}]}})");
}

TEST(Any, RefusesTypesThatItDoesNotFind) {
  const std::string expected = ": expected a type URL, \"type.googleapis.com/\" and a known message's name";
  EXPECT_EQ(through(R"({"any":{"@type":"a/no.Such"}})"), "unknown type at 1:17, in any" + expected);
  EXPECT_EQ(through(R"({"any":{"@type":"jt.Mapping"}})"), "unknown type at 1:17, in any" + expected);
  EXPECT_EQ(through(R"({"any":{"@type":"","value":""}})"), "unknown type at 1:17, in any" + expected);
  EXPECT_EQ(through(R"({"any":{"@type":1}})"), "wrong type at 1:17, in any: expected a type URL");
  EXPECT_EQ(through(R"({"any":{"anInt32":1}})"), "unknown type at 1:8, in any: expected \"@type\" in an Any");
  EXPECT_EQ(through(R"({"any":{"@type":"a/jt.Mapping","@type":"a/jt.Mapping"}})"),
            "duplicate field at 1:32, in any: expected \"@type\" once");
  EXPECT_EQ(through(R"({"any":{"aMapping":{"@type":"a/jt.Mapping"}}})"),
            "unknown type at 1:8, in any: expected \"@type\" in an Any");
  Object object("jt.Mapping");
  jt::Mapping message;
  message.mutable_any()->set_type_url("a/no.Such");
  ASSERT_TRUE(object.decode(message.SerializeAsString()).ok());
  EXPECT_EQ(object.print(), "unknown type in any" + expected);
  message.mutable_any()->set_type_url("a/jt.Mapping");
  message.mutable_any()->set_value("\x08");
  Object damaged("jt.Mapping");
  ASSERT_TRUE(damaged.decode(message.SerializeAsString()).ok());
  EXPECT_EQ(damaged.print(), "bad Any value in any: expected a jt.Mapping in the Any");
}

TEST(Any, FindsItsTypesInOtherImagesThroughAResolver) {
  const schema::OwnedImage one = testing::image_of({google::protobuf::Any::descriptor()->file()});
  const schema::OwnedImage other = testing::image_of({jt2::Needy::descriptor()->file()});
  const ImageResolver resolver({&one.image(), &other.image()});
  const std::string text = R"({"@type":"a/jt2.Needy","a":1,"below":{"a":2}})";
  Object object(testing::type_named("google.protobuf.Any", one.image()));
  EXPECT_EQ(object.parse(text).error, Error::kUnknownType);
  EXPECT_EQ(to_string(object.parse(text, {.check_required = true, .resolver = &resolver})), "ok");
  EXPECT_EQ(object.print({.resolver = &resolver}), text);
  EXPECT_EQ(object.parse(R"({"@type":"a/jt2.Needy"})", {.check_required = true, .resolver = &resolver}).error,
            Error::kMissingRequired);
}

TEST(Any, IsReadInLinearTimeHoweverItsTypesAreHidden) {
  // Each of these objects has its type at the end, behind all that is nested in it.
  std::string text = "{\"aString\":\"" + std::string(200000, 'x') + "\",\"@type\":\"a/jt.Mapping\"}";
  for (int i = 0; i < 40; ++i) text.insert(0, "{\"any\":").append(",\"@type\":\"a/jt.Mapping\"}");
  text = "{\"any\":" + text + "}";
  Object object("jt.Mapping");
  EXPECT_EQ(to_string(object.parse(text)), "ok");
  Object again("jt.Mapping");
  const std::string printed = object.print();
  EXPECT_EQ(to_string(again.parse(printed)), "ok");
  EXPECT_TRUE(again.equals(object));
}

// A schema may give any message the name google.protobuf.Timestamp; it is then an ordinary message.
TEST(WellKnown, AreToldByTheirFieldsAsWell) {
  google::protobuf::FileDescriptorSet set;
  auto* file = set.add_file();
  file->set_name("foreign.proto");
  file->set_package("google.protobuf");
  file->set_syntax("proto3");
  for (const char* name : {"Timestamp", "Any", "Value", "Struct", "Int32Value", "FieldMask", "ListValue"}) {
    auto* message = file->add_message_type();
    message->set_name(name);
    auto* field = message->add_field();
    field->set_name("value");
    field->set_number(1);
    field->set_type(google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
    field->set_type_name(".google.protobuf." + std::string(name));
    field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
  }
  const schema::BuildResult built = schema::build_image(set);
  schema::OwnedImage image;
  ASSERT_TRUE(schema::OwnedImage::load(built.image, &image).ok()) << built.error;
  for (const char* name : {"Timestamp", "Any", "Value", "Struct", "Int32Value", "FieldMask", "ListValue"}) {
    Object object(testing::type_named("google.protobuf." + std::string(name), image.image()));
    const std::string text = R"({"value":{"value":{}}})";
    EXPECT_EQ(to_string(object.parse(text)), "ok");
    EXPECT_EQ(object.print(), text);
  }
}

}  // namespace
}  // namespace drover::json
