#include "engine/balance/field_path.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/balance/field_path_testing.h"
#include "testing/test_object.h"

namespace drover::engine {
namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  return out + static_cast<char>(value);
}
std::string tag(uint32_t number, uint32_t type) { return varint(number << 3 | type); }
std::string text(uint32_t number, std::string_view bytes) {
  return tag(number, 2) + varint(bytes.size()) + std::string(bytes);
}
std::string number(uint32_t field, uint64_t value) { return tag(field, 0) + varint(value); }
std::string group(uint32_t field, const std::string& inside) { return tag(field, 3) + inside + tag(field, 4); }

FieldPath compiled(const schema::MessageType& type, std::string_view path) {
  std::string why;
  auto found = FieldPath::compile(type, path, &why);
  EXPECT_TRUE(found) << why;
  return found.value_or(FieldPath());
}
std::string error_of(std::string_view path) {
  std::string why;
  EXPECT_FALSE(FieldPath::compile(every_type(), path, &why));
  return why;
}
// "-": nothing.
std::string found(std::string_view path, const std::string& wire, const schema::MessageType& type = every_type()) {
  // Exactly as large as it is, so that ASan sees a read beyond it.
  const std::unique_ptr<char[]> exact(new char[wire.size() + 1]);
  wire.copy(exact.get() + 1, wire.size());
  const auto value = compiled(type, path).find({exact.get() + 1, wire.size()});
  return !value ? "-" : value->is_text ? std::string(value->text) : std::to_string(static_cast<int64_t>(value->number));
}

TEST(FieldPath, FindsFieldsOfEachKind) {
  EXPECT_EQ(found("id", text(1, "c-1")), "c-1");
  EXPECT_EQ(found("number", number(2, static_cast<uint64_t>(-7))), "-7");
  EXPECT_EQ(found("small", number(21, 0xffffffffffffffff)), "4294967295") << "32 bits are kept";
  EXPECT_EQ(found("zigzag", number(23, 3)), "-2");
  EXPECT_EQ(found("flag", number(8, 200)), "1");
  EXPECT_EQ(found("far", text(70000, "f")), "f");
  EXPECT_EQ(found("real", tag(20, 1) + std::string("\1\0\0\0\0\0\0\0", 8)), "1");
  EXPECT_EQ(found("group.fixed", group(4, tag(1, 5) + std::string("\2\0\0\0", 4))), "2");
}

TEST(FieldPath, LeadsThroughMessagesAndGroups) {
  EXPECT_EQ(found("inner.inner.number", text(3, text(3, number(2, 5)))), "5");
  EXPECT_EQ(found("group.back.id", group(4, text(3, text(1, "deep")))), "deep");
  EXPECT_EQ(found("inner.id", text(1, "outer")), "-");
  EXPECT_EQ(found("inner.id", text(3, "")), "-");
}

TEST(FieldPath, TheLastOccurrenceCountsAlsoAcrossMessagesThatMerge) {
  EXPECT_EQ(found("id", text(1, "a") + number(2, 1) + text(1, "b")), "b");
  EXPECT_EQ(found("inner.id", text(3, text(1, "a")) + text(3, number(2, 1))), "a");
  EXPECT_EQ(found("inner.id", text(3, text(1, "a")) + text(3, text(1, "b"))), "b");
}

TEST(FieldPath, ALaterMemberOfAOneofTakesAnEarlierOneAway) {
  EXPECT_EQ(found("text", text(5, "a") + number(6, 1)), "-");
  EXPECT_EQ(found("text", text(5, "a") + number(6, 1) + text(5, "b")), "b");
  EXPECT_EQ(found("deep.id", text(7, text(1, "a")) + group(10, "") + text(7, number(2, 1))), "-");
  EXPECT_EQ(found("text", text(5, "a") + number(5, 1)), "a") << "of another wire type, it is an unknown field";
}

TEST(FieldPath, WithoutPresenceZeroAndEmptyAreNotThere) {
  EXPECT_EQ(found("id", text(1, "a") + text(1, ""), plain_type()), "-");
  EXPECT_EQ(found("number", number(2, 0), plain_type()), "-");
  EXPECT_EQ(found("number", number(2, uint64_t{1} << 32), plain_type()), "-") << "an int32 of 0";
  EXPECT_EQ(found("maybe", number(3, 0), plain_type()), "0");
  EXPECT_EQ(found("text", text(5, ""), plain_type()), "");
  EXPECT_EQ(found("number", number(2, 0)), "0") << "proto2 has presence";
}

TEST(FieldPath, OtherFieldsArePassedOver) {
  const std::string others = text(9, text(1, "x")) + tag(20, 1) + std::string(8, 'd') + number(2, 1) +
                             group(77, text(1, "x") + group(78, number(1, 1))) + tag(22, 5) + "abcd" + number(99999, 1);
  EXPECT_EQ(found("id", others + text(1, "a") + others), "a");
}

TEST(FieldPath, BytesThatAreNoMessageHaveNoValue) {
  const std::string good = text(1, "a");
  EXPECT_EQ(found("id", good + "\x08"), "-") << "no varint";
  EXPECT_EQ(found("id", good + "\x0a"), "-") << "no length";
  EXPECT_EQ(found("id", good + "\x0a\x02x"), "-") << "a length beyond the end";
  EXPECT_EQ(found("id", good + "\x0c"), "-") << "the end of no group";
  EXPECT_EQ(found("id", good + "\x0b"), "-") << "no end of the group";
  EXPECT_EQ(found("id", good + "\x0b\x14"), "-") << "the end of another group";
  EXPECT_EQ(found("id", good + std::string(1, '\0')), "-") << "field number 0";
  EXPECT_EQ(found("id", good + "\x0e"), "-") << "no wire type";
  EXPECT_EQ(found("id", good + "\x10" + std::string(11, '\xff')), "-") << "a varint of 11 bytes";
  EXPECT_EQ(found("group.big", tag(4, 3) + number(2, 1)), "-") << "no end of the group that is looked at";
  EXPECT_EQ(found("inner.id", text(3,
                                   "\x0a\x05"
                                   "a") +
                                  "bcdef"),
            "-")
      << "a string beyond its message";
  std::string groups;
  for (int i = 0; i < 101; ++i) groups += tag(90, 3);
  for (int i = 0; i < 101; ++i) groups += tag(90, 4);
  EXPECT_EQ(found("id", good + groups), "-") << "101 groups, one in the other";
}

// A message of 4 MiB could have 2 million fields: nobody's scan may take so long.
TEST(FieldPath, ReadsABoundedNumberOfFields) {
  const FieldPath path = compiled(every_type(), "id");
  std::string wire = text(1, "first");
  for (uint32_t i = 1; i < FieldPath::kMostTags; ++i) wire += number(2, 1);
  const std::string beyond = wire + text(1, "beyond");
  EXPECT_EQ(path.find(wire + number(2, 1))->text, "first");
  EXPECT_EQ(path.find(beyond)->text, "first");
  EXPECT_EQ(path.find(beyond, FieldPath::kMostTags + 1)->text, "beyond");
  EXPECT_FALSE(path.find(beyond, 0));
  const FieldPath nested = compiled(every_type(), "inner.id");
  EXPECT_FALSE(nested.find(text(3, text(1, "a")), 1));
  EXPECT_TRUE(nested.find(text(3, text(1, "a")), 2));
}

TEST(FieldPath, WhatTheSchemaHasNotIsNamed) {
  EXPECT_EQ(error_of("customer"), "p.Every has no field customer");
  EXPECT_EQ(error_of("inner.customer"), "p.Every has no field customer");
  EXPECT_EQ(error_of("many"), "p.Every.many is repeated or a map");
  EXPECT_EQ(error_of("many.id"), "p.Every.many is repeated or a map");
  EXPECT_EQ(error_of("map"), "p.Every.map is repeated or a map");
  EXPECT_EQ(error_of("inner"), "p.Every.inner is a message");
  EXPECT_EQ(error_of("id.inner"), "p.Every.id is no message");
  EXPECT_NE(error_of("inner..id"), "");
  EXPECT_FALSE(FieldPath().find(text(1, "a")));
}

// All paths over messages that hold every field, twice and merged, against the decoder.
TEST(FieldPath, AgreesWithTheDecoder) {
  std::string fields = text(1, "id") + number(2, 9) + group(4, number(2, 3) + tag(1, 5) + "abcd") + text(5, "t") +
                       tag(20, 1) + "12345678" + text(70000, "far") + number(21, 1) + tag(22, 5) + "wxyz" +
                       number(23, 1);
  for (const char* path : kEveryPaths) {
    for (const std::string& last : {std::string(), number(6, 3), text(7, text(1, "x") + text(5, "y")), number(8, 1),
                                    group(10, tag(1, 1) + "12345678"), text(7, group(10, tag(1, 1) + "87654321"))}) {
      const std::string inner = fields + last;
      const std::string wire = inner + text(3, inner + text(3, inner) + text(7, inner)) + text(3, last) + last +
                               group(4, text(3, inner) + number(2, 77));
      drover::testing::TestObject object(every_type());
      ASSERT_TRUE(object.decode(wire).ok());
      EXPECT_TRUE(same(compiled(every_type(), path).find(wire), decoded_value({every_type(), object.get()}, path)))
          << path;
    }
  }
}

}  // namespace
}  // namespace drover::engine
