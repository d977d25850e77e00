// Printing with options, beside protobuf C++'s TextFormat::Printer. What DebugString prints:
// message/debug_text_test.cc.
#include <gtest/gtest.h>

#include <random>

#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "text/text_testing.h"
#include "workload/random_schema.h"

namespace drover::text {
namespace {

using testing::Object;
using testing::TestSchema;
using testing::text_schema;

void expect_same_text(const Object& object, const google::protobuf::Message& peer, uint64_t bits) {
  PrintOptions options{.expand_any = false};
  google::protobuf::TextFormat::Printer printer;
  if ((bits & 1) != 0) printer.SetSingleLineMode(options.one_line = true);
  if ((bits & 2) != 0) printer.SetUseUtf8StringEscaping(options.keep_utf8 = true);
  if ((bits & 4) != 0) printer.SetExpandAny(options.expand_any = true);
  if ((bits & 8) != 0) printer.SetUseFieldNumber(options.field_numbers = true);
  if ((bits & 16) != 0) printer.SetUseShortRepeatedPrimitives(options.short_repeated = true);
  if ((bits & 32) != 0) printer.SetHideUnknownFields(options.hide_unknown = true);
  if ((bits & 64) != 0) printer.SetTruncateStringFieldLongerThan(options.truncate_strings_to = 1 + bits / 256 % 8);
  if ((bits & 128) != 0) printer.SetInitialIndentLevel(options.initial_indent = 1 + bits / 4096 % 3);
  std::string ours, theirs;
  print(object.type(), *object.get(), options, &ours);
  ASSERT_TRUE(printer.PrintToString(peer, &theirs));
  ASSERT_EQ(ours, theirs) << bits % 256;
}

class TextPrint : public ::testing::TestWithParam<uint64_t> {};

TEST_P(TextPrint, EveryOptionPrintsWhatProtobufPrints) {
  std::mt19937_64 random(GetParam());
  TestSchema schema(workload::random_schema(GetParam()));
  const std::vector<std::string> names = workload::message_names(schema.files());
  for (int round = 0; round < 20; ++round) {
    const std::string& name = names[random() % names.size()];
    const auto message = schema.peer(name);
    drover::testing::RandomMessages(random).fill(message.get(), 3);
    const std::string wire = drover::testing::deterministic(*message);
    Object object(schema.type(name));
    ASSERT_TRUE(object.decode(wire).ok());
    ASSERT_TRUE(message->ParsePartialFromString(wire));
    expect_same_text(object, *message, random());
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TextPrint, drover::testing::seeds<uint64_t>(15));

TEST(TextPrintOptions, ExtensionsAndAnysPrintWhatProtobufPrints) {
  Object object("y.All");
  ASSERT_TRUE(object
                  .parse(R"(any { [type.googleapis.com/x.All] { i32s: [1, 2] s: "long text" [x.number]: 2
                              [x.packed]: [1, 2] } } es: [ONE, 9])")
                  .ok());
  const auto message = text_schema().peer("y.All");
  ASSERT_TRUE(message->ParsePartialFromString(object.encode()));
  for (uint64_t bits = 0; bits < 256 && !HasFatalFailure(); ++bits) expect_same_text(object, *message, bits);
}

TEST(TextPrintOptions, AResolverNamesTheTypesOfAnys) {
  class Nothing final : public TypeResolver {
   public:
    schema::MessageType find_message(std::string_view) const override { return {}; }
  } const nothing;
  Object object("y.All");
  ASSERT_TRUE(object.parse("any { [type.googleapis.com/y.All] { i32: 5 } }").ok());
  EXPECT_EQ(object.print(), "any { [type.googleapis.com/y.All] { i32: 5 } }");
  EXPECT_EQ(object.print({.one_line = true, .resolver = &nothing}),
            "any { type_url: \"type.googleapis.com/y.All\" value: \"\\010\\005\" }");
}

}  // namespace
}  // namespace drover::text
