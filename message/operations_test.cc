// Comparing, swapping, required fields and unknown fields.
#include "message/operations.h"

#include <algorithm>
#include <cstring>

#include "message/edit.h"
#include "message/message_testing.h"

namespace drover::message {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

bool same(const std::string& type, const std::string& a, const std::string& b) {
  TestObject x(every_schema().type(type)), y(x.type());
  EXPECT_TRUE(x.decode(a).ok() && y.decode(b).ok());
  EXPECT_EQ(equal(x.type(), *x.get(), *y.get()), equal(x.type(), *y.get(), *x.get()));
  return equal(x.type(), *x.get(), *y.get());
}

using EqualTest = RandomMessagesTest;

TEST_P(EqualTest, HoldsForAnotherDecodingAndEndsWithAnyFieldThatIsCleared) {
  int cleared = 0;
  for_messages([&](const std::string& name) {
    Pair one = pair(name);
    const schema::MessageType type = one.object.type();
    for (const schema::FieldEntry& field : type.fields()) {
      TestObject other(type);
      ASSERT_TRUE(other.decode(one.wire).ok());
      ASSERT_TRUE(equal(type, *one.object.get(), *other.get()));
      clear_field(type, other.get(), field);
      bool changed = other.encode() != one.object.encode();
      EXPECT_EQ(equal(type, *one.object.get(), *other.get()), !changed) << field.number;
      cleared += changed;
    }
  });
  EXPECT_GT(cleared, 0);
}

TEST_P(EqualTest, AgreesWithTheBytesOfTwoMessages) {
  for_messages([&](const std::string& name) {
    Pair a = pair(name), b = pair(name);
    EXPECT_EQ(equal(a.object.type(), *a.object.get(), *b.object.get()), a.canonical() == b.canonical());
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, EqualTest, random_seeds());

TEST(Equal, TakesMapEntriesInAnyOrder) {
  const std::string one = from_hex("0a 05 0a 01 61 10 01"), two = from_hex("0a 05 0a 01 62 10 02");
  EXPECT_TRUE(same("t.Maps", one + two, two + one));
  EXPECT_FALSE(same("t.Maps", one + two, one));
  EXPECT_FALSE(same("t.Maps", one, from_hex("0a 05 0a 01 61 10 02")));
}

TEST(Equal, ComparesRealsByTheirBits) {
  const std::string nan = from_hex("09 000000000000f87f"), zero = from_hex("09 0000000000000000"),
                    minus_zero = from_hex("09 0000000000000080");
  EXPECT_TRUE(same("t.Every", nan, nan));
  EXPECT_FALSE(same("t.Every", zero, minus_zero));
}

TEST(Equal, CountsPresenceAndTheOrderOfUnknownFields) {
  EXPECT_FALSE(same("t.Every", from_hex("28 00"), ""));
  EXPECT_FALSE(same("t.Every", from_hex("5a 00"), ""));
  EXPECT_TRUE(same("t.Every", from_hex("c0 25 01 c8 25 02"), from_hex("c0 25 01 c8 25 02")));
  EXPECT_FALSE(same("t.Every", from_hex("c0 25 01 c8 25 02"), from_hex("c8 25 02 c0 25 01")));
}

using SwapTest = RandomMessagesTest;

TEST_P(SwapTest, ExchangesTwoMessagesOfOneArena) {
  for_messages([&](const std::string& name) {
    Pair a = pair(name), b = pair(name);
    const schema::MessageType type = a.object.type();
    Arena arena;
    auto* x = reinterpret_cast<Message*>(raw::new_object(type, &arena));
    auto* y = reinterpret_cast<Message*>(raw::new_object(type, &arena));
    ASSERT_TRUE(merge(type, x, *a.object.get()) && merge(type, y, *b.object.get()));
    ASSERT_TRUE(swap_in_place(type, x, y));
    EXPECT_TRUE(equal(type, *x, *b.object.get()));
    EXPECT_TRUE(equal(type, *y, *a.object.get()));
    ASSERT_TRUE(swap_in_place(type, x, x));
    EXPECT_TRUE(equal(type, *x, *b.object.get()));
  });
}

TEST_P(SwapTest, LeavesMessagesOfTwoArenasAlone) {
  for_messages([&](const std::string& name) {
    Pair a = pair(name), b = pair(name);
    EXPECT_FALSE(swap_in_place(a.object.type(), a.object.get(), b.object.get()));
    EXPECT_EQ(a.canonical(), a.peer_canonical());
    EXPECT_EQ(b.canonical(), b.peer_canonical());
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, SwapTest, random_seeds());

// Paths through map entries depend on the order that each side keeps, so there are no maps.
class RequiredFieldsTest : public RandomMessagesTest {
 protected:
  RequiredFieldsTest() : RandomMessagesTest({.syntax = workload::SchemaOptions::Syntax::kProto2, .maps = false}) {}
};

TEST_P(RequiredFieldsTest, AreMissedWhereProtobufMissesThem) {
  for_messages([&](const std::string& name) {
    Pair one = pair(name);
    std::vector<std::string> ours, theirs;
    find_missing(one.object.type(), *one.object.get(), &ours);
    one.peer->FindInitializationErrors(&theirs);
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    EXPECT_EQ(ours, theirs);
    EXPECT_EQ(is_initialized(one.object.type(), *one.object.get()), theirs.empty());
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RequiredFieldsTest, random_seeds());

TEST(RequiredFields, AreNamedByTheirPaths) {
  TestObject object(every_schema().type("t.Required"));
  ASSERT_TRUE(object.decode(from_hex("12 00 1a 02 08 01 1a 02 12 00")).ok());
  std::vector<std::string> missing;
  find_missing(object.type(), *object.get(), &missing);
  EXPECT_EQ(missing, (std::vector<std::string>{"a", "b.a", "c[1].a", "c[1].b.a"}));
  EXPECT_FALSE(is_initialized(object.type(), *object.get()));
}

void discard_both(Pair one) {
  one.peer->DiscardUnknownFields();
  discard_unknown(one.object.type(), one.object.get());
  EXPECT_EQ(one.canonical(), one.peer_canonical());
}

using DiscardUnknownTest = RandomMessagesWithoutMapsTest;

TEST_P(DiscardUnknownTest, AgreesWithProtobufOnRandomMessages) {
  for_messages([&](const std::string& name) { discard_both(pair(name)); });
}

TEST(DiscardUnknownInMaps, AgreesWithProtobufsGeneratedClasses) {
  for_generated_classes([](const testing::TestSchema& schema, const std::string& name, std::mt19937_64& random) {
    discard_both(Pair(schema, name, random));
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, DiscardUnknownTest, random_seeds());

}  // namespace
}  // namespace drover::message
