// Clearing a whole object and single fields.
#include "message/message_testing.h"

namespace drover::message {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

using ClearTest = RandomMessagesTest;

TEST_P(ClearTest, LeavesAnEmptyMessageThatCanBeFilledAgain) {
  for_messages([&](const std::string& name) {
    Pair cleared = pair(name), other = pair(name);
    const schema::MessageType type = cleared.object.type();
    clear(type, cleared.object.get());
    EXPECT_TRUE(equal(type, *cleared.object.get(), *TestObject(type).get()));
    EXPECT_EQ(cleared.object.encode(), "");
    ASSERT_TRUE(merge(type, cleared.object.get(), *other.object.get()));
    EXPECT_EQ(cleared.object.encode(), other.object.encode());
    clear(type, cleared.object.get());
    ASSERT_TRUE(cleared.object.decode(other.wire).ok());
    EXPECT_EQ(cleared.object.encode(), other.object.encode());
  });
}

TEST_P(ClearTest, OfOneFieldAgreesWithProtobuf) {
  for_messages([&](const std::string& name) {
    Pair cleared = pair(name);
    const auto* descriptor = cleared.peer->GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const auto* field = descriptor->field(i);
      cleared.peer->GetReflection()->ClearField(cleared.peer.get(), field);
      clear_field(cleared.object.type(), cleared.object.get(),
                  *cleared.object.type().find_field(static_cast<uint32_t>(field->number())));
      ASSERT_EQ(cleared.canonical(), cleared.peer_canonical()) << field->DebugString();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, ClearTest, random_seeds());

TEST(ClearField, LeavesAOneofToTheMemberThatIsSet) {
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("92 7d 02 6869")).ok());  // o2: "hi"
  clear_field(object.type(), object.get(), *object.type().find_field(2001));
  EXPECT_EQ(object.text(), "o2: \"hi\"\n");
  clear_field(object.type(), object.get(), *object.type().find_field(2002));
  EXPECT_EQ(object.text(), "");
}

TEST(ClearDeathTest, AReceivedMessageIsReadOnly) {
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("28 01")).ok());
  *object.get()->drover_owner() = kReceived;
  EXPECT_DEATH(clear(object.type(), object.get()), "read-only");
}

}  // namespace
}  // namespace drover::message
