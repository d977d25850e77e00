// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// TextFormat: generated messages as text and back.
#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/api_testing.h"
#include "extensions.pb.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

using google::protobuf::TextFormat;
namespace ext = ::drover_test::ext;
namespace two = ::drover_test::two;

// The places of all errors, "2:5"; counted from 0.
class Places : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    EXPECT_FALSE(message.empty());
    places.push_back(std::to_string(line) + ":" + std::to_string(column));
  }
  std::vector<std::string> places;
};

template <typename T>
std::string text_of(const T& message) {
  std::string text;
  EXPECT_TRUE(TextFormat::PrintToString(message, &text));
  return text;
}

TEST(ApiText, AMessageIsPrintedAndParsed) {
  two::Around m;
  (*m.mutable_needs())["a"].set_id(1);
  (*m.mutable_needs())["a"].set_name("first\n");
  m.add_more()->add_packed(5);
  m.add_levels(two::HIGH);
  m.mutable_single()->set_x(7);
  m.add_many()->set_y("y");
  const std::string text = text_of(m);
  EXPECT_EQ(text,
            "needs {\n  key: \"a\"\n  value {\n    id: 1\n    name: \"first\\n\"\n  }\n}\nmore {\n  packed: 5\n}\n"
            "levels: HIGH\nSingle {\n  x: 7\n}\nMany {\n  y: \"y\"\n}\n");
  two::Around copy;
  copy.add_levels(two::LOW);
  ASSERT_TRUE(TextFormat::ParseFromString(text, &copy));
  EXPECT_EQ(copy.SerializeAsString(), m.SerializeAsString());
}

TEST(ApiText, ParsingReplacesAndMergingAdds) {
  two::Defaults m;
  m.set_i64(9);
  ASSERT_TRUE(TextFormat::ParseFromString("i32: 0x10, text: 'a' \"b\"; level: TOP", &m));
  EXPECT_FALSE(m.has_i64());
  EXPECT_EQ(m.i32(), 16);
  EXPECT_EQ(m.text(), "ab");
  EXPECT_EQ(m.level(), two::TOP);
  ASSERT_TRUE(TextFormat::MergeFromString("i32: 1 i32: 2 one_i32: 3 one_text: 'c'", &m));
  EXPECT_EQ(m.i32(), 2);
  EXPECT_EQ(m.text(), "ab");
  EXPECT_EQ(m.one_text(), "c");
}

TEST(ApiText, RefusedTextsSayWhere) {
  two::Defaults m;
  TextFormat::Parser parser;
  Places errors;
  parser.RecordErrorsTo(&errors);
  EXPECT_FALSE(parser.ParseFromString("i32: 1\n  i64: x", &m));
  EXPECT_FALSE(parser.ParseFromString("\n\ntext: 'a\\q'", &m));
  EXPECT_FALSE(parser.ParseFromString("level: LOW level: 8", &m));
  two::Needs needs;
  EXPECT_FALSE(parser.ParseFromString("id: 1", &needs));
  ASSERT_GE(errors.places.size(), 4u);
  EXPECT_EQ(errors.places.front(), "1:7");
  EXPECT_EQ(errors.places.back(), "-1:0");
}

TEST(ApiText, TheParserAllowsWhatItIsTold) {
  TextFormat::Parser parser;
  Places errors;
  parser.RecordErrorsTo(&errors);
  two::Needs needs;
  parser.AllowPartialMessage(true);
  EXPECT_TRUE(parser.ParseFromString("id: 1", &needs));
  two::Defaults m;
  EXPECT_FALSE(parser.ParseFromString("unknown { a: 1 } i32: 5", &m));
  parser.AllowUnknownField(true);
  EXPECT_TRUE(parser.ParseFromString("unknown { a: 1 } i32: 5", &m));
  EXPECT_EQ(m.i32(), 5);
  parser.AllowUnknownField(false);
  EXPECT_FALSE(parser.ParseFromString("I32: 6", &m));
  parser.AllowCaseInsensitiveField(true);
  EXPECT_TRUE(parser.ParseFromString("I32: 6", &m));
  EXPECT_EQ(m.i32(), 6);
  EXPECT_FALSE(parser.ParseFromString("1: 7", &m));
  parser.AllowFieldNumber(true);
  EXPECT_TRUE(parser.ParseFromString("1: 7", &m));
  EXPECT_EQ(m.i32(), 7);
  ext::Base base;
  EXPECT_FALSE(parser.ParseFromString("[no.such]: 1 first: 2", &base));
  parser.AllowUnknownExtension(true);
  EXPECT_TRUE(parser.ParseFromString("[no.such]: 1 first: 2", &base));
  EXPECT_EQ(base.first(), 2);
  two::Around deep;
  parser.SetRecursionLimit(2);
  EXPECT_TRUE(parser.ParseFromString("more { more { packed: [1, 2] } }", &deep));
  EXPECT_FALSE(parser.ParseFromString("more { more { more { } } }", &deep));
}

TEST(ApiText, ExtensionsAreParsed) {
  ext::Base m;
  ASSERT_TRUE(TextFormat::ParseFromString(
      "first: 1 [drover_test.ext.one_int32]: 5 [drover_test.ext.many_bool]: [true, false]", &m));
  EXPECT_EQ(m.GetExtension(ext::one_int32), 5);
  EXPECT_EQ(m.ExtensionSize(ext::many_bool), 2);
  ext::Base copy;
  ASSERT_TRUE(TextFormat::ParseFromString(text_of(m), &copy));
  EXPECT_EQ(copy.SerializeAsString(), m.SerializeAsString());
}

TEST(ApiText, AnysAreExpandedOnRequest) {
  two::Around inside;
  inside.add_packed(3);
  google::protobuf::Any any;
  any.PackFrom(inside);
  EXPECT_EQ(text_of(any), "type_url: \"type.googleapis.com/drover_test.two.Around\"\nvalue: \"\\032\\001\\003\"\n");
  TextFormat::Printer printer;
  printer.SetExpandAny(true);
  std::string text;
  ASSERT_TRUE(printer.PrintToString(any, &text));
  EXPECT_EQ(text, "[type.googleapis.com/drover_test.two.Around] {\n  packed: 3\n}\n");
  google::protobuf::Any copy;
  ASSERT_TRUE(TextFormat::ParseFromString(text, &copy));
  two::Around unpacked;
  ASSERT_TRUE(copy.UnpackTo(&unpacked));
  EXPECT_EQ(unpacked.packed(0), 3);
}

TEST(ApiText, ThePrinterHasItsOptions) {
  two::Around m;
  m.add_packed(1);
  m.add_packed(2);
  m.add_many()->set_y("\xc3\xa4 and more");
  auto printed = [&m](auto set) {
    TextFormat::Printer printer;
    set(&printer);
    std::string text = "replaced";
    EXPECT_TRUE(printer.PrintToString(m, &text));
    return text;
  };
  EXPECT_EQ(printed([](TextFormat::Printer* p) {
              p->SetSingleLineMode(true);
              EXPECT_TRUE(p->IsInSingleLineMode());
            }),
            "packed: 1 packed: 2 Many { y: \"\\303\\244 and more\" } ");
  EXPECT_EQ(printed([](TextFormat::Printer* p) {
              p->SetUseShortRepeatedPrimitives(true);
              p->SetInitialIndentLevel(1);
              p->SetUseUtf8StringEscaping(true);
            }),
            "  packed: [1, 2]\n  Many {\n    y: \"\xc3\xa4 and more\"\n  }\n");
  EXPECT_EQ(printed([](TextFormat::Printer* p) {
              p->SetUseFieldNumber(true);
              p->SetTruncateStringFieldLongerThan(3);
            }),
            "3: 1\n3: 2\n7 {\n  1: \"\\303\\244 ...<truncated>...\"\n}\n");
  ASSERT_TRUE(m.MergeFromString(api::bytes("c0 3e 05")));
  EXPECT_EQ(printed([](TextFormat::Printer* p) { p->SetSingleLineMode(true); }),
            "packed: 1 packed: 2 Many { y: \"\\303\\244 and more\" } 1000: 5 ");
  EXPECT_EQ(printed([](TextFormat::Printer* p) {
              p->SetSingleLineMode(true);
              p->SetHideUnknownFields(true);
            }),
            "packed: 1 packed: 2 Many { y: \"\\303\\244 and more\" } ");
}

}  // namespace
