// Merging into an object's own arena, and the linear copy for sending.
#include <vector>

#include "message/message_testing.h"
#include "message/raw.h"
#include "message/unknown_records.h"

namespace drover::message {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

void merge_both(Pair to, Pair from) {
  to.peer->MergeFrom(*from.peer);
  ASSERT_TRUE(merge(to.object.type(), to.object.get(), *from.object.get()));
  EXPECT_EQ(to.canonical(), to.peer_canonical()) << to.peer->DebugString();
  EXPECT_EQ(from.canonical(), from.peer_canonical()) << "what is merged from must not change";
}

using MergeTest = RandomMessagesWithoutMapsTest;

TEST_P(MergeTest, AgreesWithProtobufOnRandomMessages) {
  for_messages([&](const std::string& name) { merge_both(pair(name), pair(name)); });
}

TEST(MergeMaps, AgreesWithProtobufsGeneratedClasses) {
  for_generated_classes([](const testing::TestSchema& schema, const std::string& name, std::mt19937_64& random) {
    merge_both(Pair(schema, name, random), Pair(schema, name, random));
  });
}

using MergeIntoEmptyTest = RandomMessagesTest;

TEST_P(MergeIntoEmptyTest, Copies) {
  for_messages([&](const std::string& name) {
    Pair from = pair(name);
    TestObject to(from.object.type());
    ASSERT_TRUE(merge(to.type(), to.get(), *from.object.get()));
    EXPECT_TRUE(equal(to.type(), *to.get(), *from.object.get()));
    EXPECT_EQ(to.encode(), from.object.encode());
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergeTest, random_seeds());
INSTANTIATE_TEST_SUITE_P(Seeds, MergeIntoEmptyTest, random_seeds());

using LinearCopyTest = RandomMessagesTest;

TEST_P(LinearCopyTest, TakesOneRunOfTheComputedSizeAndNothingOfTheOriginal) {
  for_messages([&](const std::string& name) {
    auto original = std::make_unique<Pair>(schema, name, random);
    const schema::MessageType type = original->object.type();
    const std::string wire = original->object.encode();
    size_t size = linearized_size(type, *original->object.get());
    std::vector<uint64_t> memory((size + 7) / 8);
    Arena arena(Arena::FixedMemory{memory.data(), memory.size() * 8});
    Message* copy = deep_copy_into(type, *original->object.get(), &arena);
    ASSERT_NE(copy, nullptr);
    EXPECT_TRUE(equal(type, *copy, *original->object.get()));
    EXPECT_EQ(arena.initial_used(), size);
    original.reset();
    Encoded encoded;
    ASSERT_TRUE(encode(type, copy, {}, &encoded).ok());
    std::string bytes(encoded.size(), '\0');
    encoded.copy_to(bytes.data());
    EXPECT_EQ(bytes, wire);
  });
}

TEST_P(LinearCopyTest, IsNullWithoutRoomForIt) {
  for_messages([&](const std::string& name) {
    Pair original = pair(name);
    size_t size = linearized_size(original.object.type(), *original.object.get()) - 8;
    std::vector<uint64_t> memory(size / 8 + 1);
    Arena arena(Arena::FixedMemory{memory.data(), size});
    EXPECT_EQ(deep_copy_into(original.object.type(), *original.object.get(), &arena), nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, LinearCopyTest, random_seeds());

// Wire bytes that strings refer to, and whether field 9 of an object does.
struct Aliased {
  Aliased() : object(every_schema().type("t.Every")) { EXPECT_TRUE(object.decode(wire, {.alias = true}).ok()); }
  bool refers(const Message* other) const {
    const char* at = raw::words(other->drover_bytes(), object.type().find_field(9)->offset)->begin();
    return at >= wire.data() && at < wire.data() + wire.size();
  }
  std::string wire = from_hex("4a ac 02") + std::string(300, 'x');  // shorter strings are copied
  TestObject object;
};

TEST(Borrowing, ALinearCopyRefersToWhatItsArenaMayBorrow) {
  Aliased from;
  Arena copying, borrowing;
  borrowing.set_borrowable(from.wire.data(), from.wire.size());
  EXPECT_FALSE(from.refers(deep_copy_into(from.object.type(), *from.object.get(), &copying)));
  EXPECT_TRUE(from.refers(deep_copy_into(from.object.type(), *from.object.get(), &borrowing)));
}

TEST(Borrowing, AMergeRefersToWhatItsArenaMayBorrow) {
  Aliased from;
  TestObject copying(from.object.type()), borrowing(from.object.type());
  borrowing.arena()->set_borrowable(from.wire.data(), from.wire.size());
  ASSERT_TRUE(merge(from.object.type(), copying.get(), *from.object.get()));
  ASSERT_TRUE(merge(from.object.type(), borrowing.get(), *from.object.get()));
  EXPECT_FALSE(from.refers(copying.get()));
  EXPECT_TRUE(from.refers(borrowing.get()));
}

// t.Every inside its field 11, `levels` times.
std::string nested(int levels) {
  std::string wire;
  for (int i = 0; i < levels; ++i) {
    std::string outer = "\x5a";
    append_varint(&outer, wire.size());
    wire = outer + wire;
  }
  return wire;
}

TEST(Depth, WhatNestsTooDeeplyIsNotCopied) {
  TestObject fine(every_schema().type("t.Every")), deep(fine.type()), to(fine.type());
  ASSERT_TRUE(fine.decode(nested(kMaxDepth / 2 - 2), {.depth_limit = 5000}).ok());
  ASSERT_TRUE(deep.decode(nested(kMaxDepth + 1), {.depth_limit = 5000}).ok());
  Arena arena;
  EXPECT_NE(deep_copy_into(fine.type(), *fine.get(), &arena), nullptr);
  EXPECT_EQ(deep_copy_into(deep.type(), *deep.get(), &arena), nullptr);
  EXPECT_TRUE(merge(fine.type(), to.get(), *fine.get()));
  EXPECT_FALSE(merge(deep.type(), to.get(), *deep.get()));
  EXPECT_TRUE(equal(fine.type(), *fine.get(), *fine.get()));
  EXPECT_FALSE(equal(deep.type(), *deep.get(), *deep.get()));
}

}  // namespace
}  // namespace drover::message
