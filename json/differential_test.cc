// The mapping beside protobuf C++ 3.21's util::JsonStringToMessage and util::MessageToJsonString.
//
// 3.21 is older than much of the conformance suite, which is what Drover keeps to; where the two differ is written down
// below, text by text. Elsewhere they must agree: what one prints the other reads as the same message, and every text
// that Drover takes 3.21 takes, too, and sees the same in it (3.21 is the laxer one: unquoted keys, trailing commas,
// keys that come twice).
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <random>

#include "json/json_testing.h"
#include "testing/deterministic.h"
#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "testing/test_schema.h"
#include "workload/random_schema.h"

namespace drover::json {
namespace {

using drover::testing::deterministic;
using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;
using testing::Object;

// Drover's object as a peer's message.
std::string as_peer(const Object& object, const google::protobuf::Message& prototype) {
  std::unique_ptr<google::protobuf::Message> message(prototype.New());
  EXPECT_TRUE(message->ParsePartialFromString(object.encode()));
  return deterministic(*message);
}

// ---- messages, printed by one and read by the other

void expect_round_trip(const schema::MessageType& type, const google::protobuf::Message& message) {
  Object object(type);
  ASSERT_TRUE(object.decode(deterministic(message)).ok());
  std::string theirs;
  ASSERT_TRUE(MessageToJsonString(message, &theirs).ok());
  Object from_theirs(type);
  const Result result = from_theirs.parse(theirs);
  ASSERT_TRUE(result.ok()) << to_string(result) << "\n" << theirs;
  EXPECT_EQ(as_peer(from_theirs, message), deterministic(message)) << theirs;

  const std::string ours = object.print();
  std::unique_ptr<google::protobuf::Message> from_ours(message.New());
  const auto status = JsonStringToMessage(ours, from_ours.get());
  ASSERT_TRUE(status.ok()) << status.ToString() << "\n" << ours;
  EXPECT_EQ(deterministic(*from_ours), deterministic(message)) << ours << "\n" << theirs;
}

void damage(std::mt19937_64& random, std::string* text) {
  static const char* const pieces[] = {"null", "1",  "-0", "1.5", "1e3", "\"1\"",   "\"a\"", "true",
                                       "{}",   "[]", ",",  ":",   "\"",  "\\u0041", "{",     "}",
                                       "[",    "]",  "\n", "0.0", "e",   "\\"};
  const size_t at = random() % (text->size() + 1);
  switch (random() % 3) {
    case 0:
      text->erase(at, 1 + random() % 4);
      break;
    case 1:
      text->insert(at, pieces[random() % std::size(pieces)]);
      break;
    default:
      text->replace(at, 1 + random() % 6, pieces[random() % std::size(pieces)]);
  }
}

// Refused by 3.21 and accepted by its successors: integers in quotes with a fraction or an exponent, and base64 with
// bits behind its last byte. And an enum's number in quotes that the enum does not name: Drover treats it as the same
// number without quotes, 3.21 takes only that.
bool refused_by_3_21(const std::string& status) {
  if (status.find("TYPE_BYTES") != std::string::npos) return true;
  const size_t value = status.find("invalid value \"");
  if (value == std::string::npos) return false;
  const size_t type = status.find(" for type", value);
  if (status.find_first_of(".eE", value + 14) < type) return true;
  const size_t end = status.find_first_not_of("-0123456789", value + 15);
  return end > value + 15 && end + 1 == type && status.compare(type, 30, " for type type.googleapis.com/") == 0;
}

// Whether there is a number -0 in the text: 3.21 reads it as the integer 0, and the sign of a double is lost.
bool has_negative_zero(std::string_view text) {
  for (size_t at = text.find("-0"); at != text.npos; at = text.find("-0", at + 2)) {
    if (at + 2 == text.size() || std::string_view(".eE").find(text[at + 2]) == text.npos) return true;
  }
  return false;
}

// The peer accepts every text that Drover accepts, and reads the same message.
void expect_stricter(const schema::MessageType& type, const google::protobuf::Message& prototype,
                     const std::string& text, int* taken) {
  Object object(type);
  if (!object.parse(text).ok()) return;
  ++*taken;
  std::unique_ptr<google::protobuf::Message> message(prototype.New());
  const auto status = JsonStringToMessage(text, message.get());
  if (refused_by_3_21(status.ToString())) return;
  ASSERT_TRUE(status.ok()) << status.ToString() << "\n" << text;
  if (has_negative_zero(text)) return;
  EXPECT_EQ(as_peer(object, prototype), deterministic(*message)) << text;
}

class JsonDifferential : public ::testing::TestWithParam<int> {};

TEST_P(JsonDifferential, RandomMessagesOfRandomSchemasAgree) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  // The peer refuses messages without their required fields, and its transcoder does not know groups.
  const workload::SchemaOptions options{.groups = false, .required = false};
  drover::testing::TestSchema schema(workload::random_schema(static_cast<uint64_t>(GetParam()), options));
  const std::vector<std::string> names = workload::message_names(schema.files());
  int taken = 0;
  for (int round = 0; round < 10; ++round) {
    const std::string& name = names[random() % names.size()];
    auto message = schema.peer(name);
    drover::testing::RandomMessages(random).fill(message.get(), 3);
    const schema::MessageType type = schema.type(name);
    Object known(type);  // the peer does not reach the unknown fields in a dynamic message's map entries
    ASSERT_TRUE(known.decode(deterministic(*message)).ok());
    message::discard_unknown(type, known.get());
    ASSERT_TRUE(message->ParsePartialFromString(known.encode()));
    expect_round_trip(type, *message);
    if (HasFatalFailure()) return;
    std::string text;
    ASSERT_TRUE(MessageToJsonString(*message, &text).ok());
    for (int i = 0; i < 10; ++i) {
      std::string damaged = text;
      damage(random, &damaged);
      expect_stricter(type, *message, damaged, &taken);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(taken, 0) << "no damaged text was taken: nothing was compared";
}

INSTANTIATE_TEST_SUITE_P(Seeds, JsonDifferential, drover::testing::seeds(20));

TEST(JsonPeer, MessagesOfWellKnownTypesAgree) {
  std::mt19937_64 random(5);
  const schema::MessageType type = testing::type_named("jt.Mapping");
  for (int round = 0; round < 300; ++round) {
    jt::Mapping message;
    auto* struct_fields = message.mutable_struct_()->mutable_fields();
    for (uint64_t i = random() % 4; i > 0; --i) {
      auto& value = (*struct_fields)[drover::testing::random_text(random)];
      switch (random() % 5) {
        case 0:
          value.set_number_value(static_cast<double>(static_cast<int64_t>(random())) / 3);
          break;
        case 1:
          value.set_string_value(drover::testing::random_text(random));
          break;
        case 2:
          value.set_bool_value(random() % 2 == 0);
          break;
        case 3:
          value.set_null_value(google::protobuf::NULL_VALUE);
          break;
        default:
          value.mutable_list_value()->add_values()->mutable_struct_value();
      }
    }
    message.mutable_time()->set_seconds(static_cast<int64_t>(random() % 315537897600) - 62135596800);
    message.mutable_time()->set_nanos(static_cast<int32_t>(random() % 1000000000));
    const int sign = random() % 2 == 0 ? 1 : -1;
    message.mutable_span()->set_seconds(sign * static_cast<int64_t>(random() % 315576000001));
    message.mutable_span()->set_nanos(sign * static_cast<int32_t>(random() % 1000 * 1000000));
    message.mutable_mask()->add_paths("foo_bar.baz");
    message.mutable_int64_wrapper()->set_value(static_cast<int64_t>(random()));
    message.mutable_float_wrapper()->set_value(static_cast<float>(random() % 1000) / 7);
    message.mutable_bytes_wrapper()->set_value(drover::testing::random_text(random));
    jt::Mapping inside;
    inside.set_a_double(static_cast<double>(random()) * 1e-30);
    inside.mutable_double_wrapper()->set_value(-0.0);
    message.mutable_any()->PackFrom(inside);
    message.add_many_any()->PackFrom(message.time());
    expect_round_trip(type, message);
    if (HasFatalFailure()) return;
  }
}

// ---- texts, one by one

enum Peer { kAgrees, kTakesIt, kRefusesIt, kSeesOther };

struct Case {
  const char* text;
  bool good;  // for Drover
  Peer peer = kAgrees;
};

void check(const Case& c) {
  SCOPED_TRACE(c.text);
  Object object("jt.Mapping");
  const Result result = object.parse(c.text);
  EXPECT_EQ(result.ok(), c.good) << to_string(result);
  jt::Mapping message;
  const auto status = JsonStringToMessage(c.text, &message);
  const bool peer_good = status.ok();
  const bool same = result.ok() && peer_good && as_peer(object, message) == deterministic(message);
  const Peer found = result.ok() == peer_good ? (!result.ok() || same ? kAgrees : kSeesOther)
                     : peer_good              ? kTakesIt
                                              : kRefusesIt;
  EXPECT_EQ(found, c.peer) << status.ToString() << "\n"
                           << (result.ok() ? object.print() : "") << "\n"
                           << message.ShortDebugString();
}

TEST(JsonPeer, TextsAreTakenByBothOrWhatDiffersIsKnown) {
  for (const Case& c : {
           Case{R"({})", true},
           {R"({"anInt32":1})", true},
           {R"({"an_int32":1})", true},
           {R"({"anInt32":"1"})", true},
           {R"({"anInt32":1.0})", true},
           {R"({"anInt32":1e2})", true},
           {R"({"anInt32":1.5})", false},
           {R"({"anInt32":2147483648})", false},
           {R"({"anInt32":"abc"})", false},
           {R"({"anInt32":true})", false},
           {R"({"anInt32":null})", true},
           {R"({"aUint64":"18446744073709551615"})", true},
           {R"({"aUint64":18446744073709551615})", true},
           {R"({"anInt64":-9223372036854775808})", true},
           {R"({"aFloat":3.4e38})", true},
           {R"({"aFloat":3.5e38})", false},
           {R"({"aDouble":"NaN"})", true},
           {R"({"aDouble":"-Infinity"})", true},
           {R"({"aDouble":1e400})", false},
           {R"({"aBool":1})", false},
           {R"({"aString":"\ud83d\ude00"})", true},
           {R"({"someBytes":"-_-_"})", true},
           {R"({"someBytes":"AQ"})", true},
           {R"({"aColor":"RED"})", true},
           {R"({"aColor":1})", true},
           {R"({"aColor":99})", true},
           {R"({"aColor":"1"})", true},
           {R"({"aColor":"PURPLE"})", false},
           {R"({"manyInt32":[1,"2"]})", true},
           {R"({"stringToInt32":{"a":1,"a":2}})", false},
           {R"({"int32ToString":{"1":"a"}})", true},
           {R"({"boolToColor":{"true":1}})", true},
           {R"({"chosenInt32":1,"chosenString":"a"})", false},
           {R"({"chosenNull":null})", true},
           {R"({"time":"1970-01-01T00:00:00.5+01:00"})", true},
           {R"({"span":"1.5s"})", true},
           {R"({"span":"1"})", false},
           {R"({"mask":"a.fooBar,b"})", true},
           {R"({"value":[1,{"a":null}]})", true},
           {R"({"struct":{"a":{"b":[]}}})", true},
           {R"({"list":[[]]})", true},
           {R"({"int32Wrapper":0})", true},
           {R"({"boolWrapper":null})", true},
           {R"({"any":{"@type":"type.googleapis.com/jt.Mapping","anInt32":1}})", true},
           {R"({"any":{"anInt32":1,"@type":"type.googleapis.com/jt.Mapping"}})", true},
           {R"({"any":{"@type":"type.googleapis.com/google.protobuf.Int32Value","value":1}})", true},
           {R"({"any":{"@type":"type.googleapis.com/no.Such"}})", false},
           {R"({"unknown":1})", false},
           {R"({"anInt32":1)", false},
           {R"({"anInt32":1}})", false},
           {R"({"anInt32":01})", false},
           {R"({"anInt32":" 1"})", false},
           {R"({"aString":1})", false},
           {R"({"aDouble":NaN})", false},
           {R"({"aString":"\ud83d"})", false},
           {R"({"time":"1970-01-01t00:00:00z"})", false},
           // Other URLs than type.googleapis.com/ name a type of the resolver's own there.
           {R"({"any":{"@type":"example.com/jt.Mapping"}})", true, kRefusesIt},
           // Accepted by 3.21, although the conformance suite requires an error.
           {R"({"anInt32":1,"anInt32":2})", false, kTakesIt},
           {R"({"anInt32":1,"an_int32":2})", false, kTakesIt},
           {R"({"aBool":"true"})", false, kTakesIt},
           {R"({"manyInt32":[null]})", false, kTakesIt},
           {R"({"stringToInt32":{"a":null}})", false, kTakesIt},
           {R"({anInt32:1})", false, kTakesIt},
           {R"({'anInt32':1})", false, kTakesIt},
           {R"({"anInt32":1,})", false, kTakesIt},
           {R"({"mask":"foo_bar"})", false, kTakesIt},
           {R"({"int32Wrapper":{"value":1}})", false, kTakesIt},
       }) {
    check(c);
  }
}

// protobuf C++ logs each refused text.
auto* const kQuiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace
}  // namespace drover::json
