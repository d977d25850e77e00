// The foundations of the codec benchmark: it detects an implementation that reads a message differently, its messages
// match their names, and its clock counts calls correctly.
#include <gmock/gmock.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/codec/check.h"
#include "bench/codec/interleave.h"
#include "bench/codec/kinds.h"

namespace drover::bench {
namespace {

// A subject whose round trip gives what the test wants.
class FakeSubject final : public Subject {
 public:
  explicit FakeSubject(std::string bytes) : bytes_(std::move(bytes)) {}
  const char* implementation() const override { return "fake"; }
  std::vector<Operation> operations() override { return {}; }
  std::vector<std::string> round_trips() override { return {bytes_}; }

 private:
  std::string bytes_;
};

std::string check_of(const BenchMessage& message, const std::string& round_trip) {
  std::vector<std::unique_ptr<Subject>> subjects;
  subjects.push_back(std::make_unique<FakeSubject>(round_trip));
  return check(message, subjects);
}

BenchMessage message_named(const std::string& name) {
  for (const BenchMessage& message : kind_messages().messages) {
    if (message.name == name) return message;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(Check, AcceptsTheSameFieldsInAnotherOrder) {
  BenchMessage message = message_named("kind.bool.7");
  std::string first = message.wire.substr(0, 2);
  EXPECT_EQ(check_of(message, message.wire.substr(2) + first), "");
}

TEST(Check, FindsALostField) {
  BenchMessage message = message_named("kind.bool.7");
  EXPECT_THAT(check_of(message, message.wire.substr(2)), ::testing::HasSubstr("another message"));
}

TEST(Check, FindsAFailure) { EXPECT_THAT(check_of(message_named("kind.bool.7"), ""), ::testing::HasSubstr("fails")); }

TEST(KindMessages, ParseWithoutUnknownFieldsUnlessThatIsTheKind) {
  for (const BenchMessage& message : kind_messages().messages) {
    google::protobuf::DescriptorPool pool;
    for (const auto& file : message.schema->file()) ASSERT_NE(pool.BuildFile(file), nullptr);
    google::protobuf::DynamicMessageFactory factory;
    std::unique_ptr<google::protobuf::Message> parsed(
        factory.GetPrototype(pool.FindMessageTypeByName(message.type_name))->New());
    ASSERT_TRUE(parsed->ParseFromString(message.wire)) << message.name;
    bool has_unknown = !parsed->GetReflection()->GetUnknownFields(*parsed).empty();
    EXPECT_EQ(has_unknown, message.name.starts_with("kind.unknown")) << message.name;
  }
}

TEST(KindMessages, ComeAsPairsOfWhichTheSecondHasTwiceTheFields) {
  std::vector<BenchMessage> kinds = kind_messages().messages;
  std::erase_if(kinds, [](const BenchMessage& message) { return message.set != "kinds"; });
  ASSERT_EQ(kinds.size() % 2, 0u);
  for (size_t i = 0; i < kinds.size(); i += 2) {
    size_t dot = kinds[i].name.rfind('.');
    EXPECT_EQ(kinds[i + 1].name.substr(0, dot), kinds[i].name.substr(0, dot));
    EXPECT_EQ(std::stoi(kinds[i + 1].name.substr(dot + 1)), 2 * std::stoi(kinds[i].name.substr(dot + 1)));
    EXPECT_EQ(kinds[i + 1].type_name, kinds[i].type_name);
  }
}

TEST(KindMessages, HavePackedVarintsOfAllLengthsInEqualShares) {
  BenchMessage message = message_named("packed-varint");
  std::string_view values(message.wire);
  values.remove_prefix(1 + 3);  // tag, length
  size_t counts[11] = {};
  for (size_t length = 0; char byte : values) {
    ++length;
    if (static_cast<signed char>(byte) < 0) continue;
    ASSERT_LE(length, 10u);
    ++counts[length];
    length = 0;
  }
  auto [fewest, most] = std::minmax_element(counts + 1, counts + 11);
  EXPECT_GE(*fewest, 1638u);
  EXPECT_LE(*most, 1639u);
}

TEST(BuiltinMessages, AreFortyWithNamesOfTheirOwn) {
  BenchMessages builtin = builtin_messages();
  ASSERT_EQ(builtin.error, "");
  std::set<std::string> names;
  for (const BenchMessage& message : builtin.messages) names.insert(message.name);
  EXPECT_EQ(names.size(), 40u);
}

TEST(TimeInterleaved, TellsWhichIsSlowerAndThatOneFails) {
  auto work = [](int loops, bool ok) {
    return [=](int times) {
      for (volatile int i = 0; i < loops * times;) i = i + 1;
      return ok;
    };
  };
  std::vector<Timing> timings = time_interleaved({work(1000, true), work(20000, true), work(1000, false)}, 0.01);
  ASSERT_EQ(timings.size(), 3u);
  EXPECT_GT(timings[1].low_ns, 4 * timings[0].low_ns);
  EXPECT_LE(timings[0].low_ns, timings[0].median_ns);
  EXPECT_TRUE(timings[1].ok);
  EXPECT_FALSE(timings[2].ok);
}

}  // namespace
}  // namespace drover::bench
