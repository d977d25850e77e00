// The text format beside protobuf C++ 3.21's TextFormat: what one prints the other reads as the same message; and of
// texts with random damage, both take the same ones and read the same in them. Where they are meant to differ is
// written down in text_testing.h (is_meant) and docs/text.md.
#include <gtest/gtest.h>

#include <random>

#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "text/text_testing.h"
#include "workload/random_schema.h"

namespace drover::text {
namespace {

using testing::disagreement;
using testing::Object;
using testing::TestSchema;
using testing::text_schema;

const char* const kPieces[] = {
    "1",    "-1",  "0",      "0x1f", "017",  "08",    "1.5",      "-.5",   "1e3", "1e400", "2f",  "inf",  "-nan",
    "true", "t",   "\"a\"",  "'b'",  "{",    "}",     "<",        ">",     "[",   "]",     ",",   ";",    ":",
    "#",    "\n",  "[1, 2]", "{}",   "\\",   "\\x41", "\\u00e4",  "\\101", "-",   " ",     "foo", "\"",   "key: 1",
    "ZERO", "NAN", "1 2",    "99",   "1: 2", "_",     "infinity", "\\0",   "",    "[a.b]", "/",   "false"};

void damage(std::mt19937_64& random, std::string* text) {
  const size_t at = random() % (text->size() + 1);
  const char* piece = kPieces[random() % std::size(kPieces)];
  switch (random() % 5) {
    case 0:
      text->erase(at, 1 + random() % 6);
      break;
    case 1:
      text->insert(at, piece);
      break;
    case 2: {  // a run of the text once more
      const std::string run = text->substr(at, random() % 40);
      text->insert(random() % (text->size() + 1), run);
      break;
    }
    default:  // a whole word, so that the rest keeps its form
      const size_t from = text->find_last_of(" :\n[,", at == 0 ? 0 : at - 1);
      const size_t begin = from == std::string::npos ? 0 : from + 1;
      const size_t end = std::min(text->find_first_of(" :\n],", begin), text->size());
      text->replace(begin, end - begin, piece);
  }
}

ParseOptions random_options(std::mt19937_64& random) {
  ParseOptions options;
  const uint64_t bits = random();
  options.allow_partial = (bits & 1) != 0;
  options.allow_unknown_field = (bits & 6) == 6;
  options.allow_unknown_extension = (bits & 24) == 24;
  options.allow_any_case = (bits & 96) == 96;
  options.allow_field_number = (bits & 384) == 384;
  options.allow_overwrites = (bits & 1536) == 1536;
  if ((bits & 0x7000) == 0x7000) options.depth_limit = 2;
  return options;
}

void expect_agreement(const TestSchema& schema, const std::string& name, const std::string& text, int* taken,
                      std::mt19937_64& random) {
  for (int i = 0; i < 20; ++i) {
    std::string damaged = text;
    for (uint64_t edits = 1 + random() % 2; edits > 0; --edits) damage(random, &damaged);
    bool took = false;
    const std::string differs = disagreement(schema, name, damaged, random_options(random), &took);
    ASSERT_EQ(differs, "") << damaged;
    *taken += took ? 1 : 0;
  }
}

class TextDifferential : public ::testing::TestWithParam<uint64_t> {};

TEST_P(TextDifferential, RandomMessagesOfRandomSchemasAgree) {
  std::mt19937_64 random(GetParam());
  TestSchema schema(workload::random_schema(GetParam()));
  const std::vector<std::string> names = workload::message_names(schema.files());
  int taken = 0;
  for (int round = 0; round < 10; ++round) {
    const std::string& name = names[random() % names.size()];
    const auto message = schema.peer(name);
    drover::testing::RandomMessages(random).fill(message.get(), 3);
    Object known(schema.type(name));  // unknown fields are printed by number, which no parser takes
    ASSERT_TRUE(known.decode(drover::testing::deterministic(*message)).ok());
    message::discard_unknown(known.type(), known.get());
    ASSERT_TRUE(message->ParsePartialFromString(known.encode()));
    google::protobuf::TextFormat::Printer printer;
    const uint64_t bits = random();
    printer.SetSingleLineMode((bits & 1) != 0);
    printer.SetUseShortRepeatedPrimitives((bits & 2) != 0);
    std::string text;
    ASSERT_TRUE(printer.PrintToString(*message, &text));
    Object again(known.type());
    const Result result = again.parse(text, {.allow_partial = true});
    ASSERT_TRUE(result.ok()) << to_string(result) << "\n" << text;
    ASSERT_EQ(again.print({}), message->DebugString());
    expect_agreement(schema, name, text, &taken, random);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(taken, 0) << "no damaged text was taken: only refusals were compared";
}

INSTANTIATE_TEST_SUITE_P(Seeds, TextDifferential, drover::testing::seeds<uint64_t>(20));

// What random schemas lack: extensions, message sets, Anys, and forms that no printer writes.
TEST(TextPeer, DamagedTextsWithEveryFormAgree) {
  const std::string two =
      R"(i32: 0x1f u32: 017 i64: -3; u64: 4, real32: 1.5f real64: -inf flag: t s: "a" 'b\x41\n' b: '\377'
    e: ONE Group { i32: 1 } Many < i32: 2 all: { s: "x" } > Many [{}, {i32: 3}] all: { alls { i32: 1 } alls {} }
    i32s: [1, 2] i32s: 3 ss: ["a", 'b' "c"] es: [ZERO, 1] to_i32 { key: "k" value: 1 } to_i32: [{key: "l"}, {}]
    to_all { key: 1 value { one: 5 } } to_e { key: true value: ONE } two: "two" set { [x.Scope] { a: 1 } }
    camelCase { someNumber: 7 } needy { needed: 1 } [x.number]: 5 [x.texts]: "a" [x.texts]: ["b", "c"] [x.ext_e]: ONE
    [x.packed]: [1, -2] [x.packed]: 3 [x.Scope.inside] { i32: 1 [x.number]: 6 } [x.Scope.grouped]: [{ a: 1 }, {}]  # end
  )";
  const std::string three = R"(i32: 1 maybe: 0 s: "\303\244\u00e4" b: "\xff" e: 7 real32: 3.4028235e+38 es: [ONE, 99]
    any { [type.googleapis.com/x.All] { i32: 1 [x.number]: 2 } } anys { type_url: "a/b" value: "c" }
    anys: [{ [type.googleapis.com/y.All]: < all { s: "in" } > }, {}] to_s { key: "a" value: "b" }
    to_all { key: 18446744073709551615 value { any { [type.googleapis.com/x.Needy] { needed: 1 } } } } one: true)";
  std::mt19937_64 random(7);
  int taken = 0;
  for (int round = 0; round < 100 * drover::testing::test_factor() && !HasFatalFailure(); ++round) {
    expect_agreement(text_schema(), "x.All", two, &taken, random);
    if (!HasFatalFailure()) expect_agreement(text_schema(), "y.All", three, &taken, random);
  }
  ASSERT_EQ(disagreement(text_schema(), "x.All", two, {}), "");
  ASSERT_EQ(disagreement(text_schema(), "y.All", three, {}), "");
  EXPECT_GT(taken, 150);
}

// protobuf C++ logs some refusals whatever collector it has.
auto* const kQuiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace
}  // namespace drover::text
