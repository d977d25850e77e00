// Unknown bytes, record by record.
#include "message/unknown_records.h"

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <random>

#include "testing/hex.h"
#include "testing/long_runs.h"
#include "testing/random_message.h"

namespace drover::message {
namespace {

using testing::from_hex;
using testing::to_hex;

// "number:wire type=value" of each record, then how many bytes were read.
std::string records_of(const std::string& bytes, bool message_set = false) {
  UnknownRecords records(bytes, message_set);
  UnknownRecord record;
  std::string text;
  while (records.next(&record)) {
    text += std::to_string(record.number) + (record.item ? ":item=" : ":" + std::to_string(record.wire_type) + "=") +
            to_hex(record.value);
  }
  return text + "read " + std::to_string(records.position());
}

TEST(UnknownRecords, HaveNumberWireTypeAndValue) {
  EXPECT_EQ(records_of(from_hex("08 96 01")), "1:0=96 01 read 3");
  EXPECT_EQ(records_of(from_hex("0d 01020304")), "1:5=01 02 03 04 read 5");
  EXPECT_EQ(records_of(from_hex("09 0102030405060708")), "1:1=01 02 03 04 05 06 07 08 read 9");
  EXPECT_EQ(records_of(from_hex("8a 7d 02 6869 08 01")), "2001:2=68 69 1:0=01 read 7");
  EXPECT_EQ(records_of(""), "read 0");
}

TEST(UnknownRecords, HoldGroupsWithWhatIsInThem) {
  EXPECT_EQ(records_of(from_hex("0b 10 05 0c 08 01")), "1:3=10 05 1:0=01 read 6");
  EXPECT_EQ(records_of(from_hex("0b 13 08 01 14 0c")), "1:3=13 08 01 14 read 6");
  EXPECT_EQ(records_of(from_hex("0b 0c")), "1:3=read 2");
}

TEST(UnknownRecords, EndAtWhatIsNoField) {
  EXPECT_EQ(records_of(from_hex("08 01 08")), "1:0=01 read 2") << "no value";
  EXPECT_EQ(records_of(from_hex("08 01 08 ffffffffffffffffffff01")), "1:0=01 read 2") << "a varint of eleven bytes";
  EXPECT_EQ(records_of(from_hex("08 01 0a 05 01")), "1:0=01 read 2") << "a length past the end";
  EXPECT_EQ(records_of(from_hex("08 01 00 01")), "1:0=01 read 2") << "field number 0";
  EXPECT_EQ(records_of(from_hex("08 01 0e 01")), "1:0=01 read 2") << "wire type 6";
  EXPECT_EQ(records_of(from_hex("08 01 0c")), "1:0=01 read 2") << "the end of no group";
  EXPECT_EQ(records_of(from_hex("08 01 0b 08 01")), "1:0=01 read 2") << "a group without its end";
  EXPECT_EQ(records_of(from_hex("08 01 0b 14")), "1:0=01 read 2") << "the end of another group";
  EXPECT_EQ(records_of(from_hex("08 01 0d 010203")), "1:0=01 read 2") << "three bytes of four";
}

TEST(UnknownRecords, CountAMessageSetsItemsByTheirTypeIds) {
  const std::string item = from_hex("0b 10 ac 02 1a 02 08 05 0c"), reversed = from_hex("0b 1a 02 08 05 10 ac 02 0c");
  EXPECT_EQ(records_of(item, true), "300:item=08 05 read 9");
  EXPECT_EQ(records_of(reversed, true), "300:item=08 05 read 9");
  EXPECT_EQ(records_of(item, false), "1:3=10 ac 02 1a 02 08 05 read 9");
  EXPECT_EQ(records_of(from_hex("0b 10 05 0c"), true), "1:3=10 05 read 4") << "an item without a message stays a group";
}

TEST(UnknownRecords, AreProtobufsFieldsForRandomBytes) {
  using google::protobuf::UnknownField;
  std::mt19937_64 random(17);
  int taken = 0;
  for (int i = 0; i < 20000 * testing::test_factor(); ++i) {
    const std::string wire = testing::random_wire(random);
    UnknownRecords records(wire);
    UnknownRecord record;
    std::vector<UnknownRecord> all;
    std::string bytes;
    while (records.next(&record)) {
      all.push_back(record);
      bytes += record.bytes;
    }
    ASSERT_EQ(bytes, wire.substr(0, records.position()));
    google::protobuf::UnknownFieldSet peer;
    if (!peer.ParseFromString(wire)) continue;
    ++taken;
    ASSERT_EQ(records.position(), wire.size()) << to_hex(wire);
    ASSERT_EQ(static_cast<int>(all.size()), peer.field_count()) << to_hex(wire);
    for (int f = 0; f < peer.field_count(); ++f) {
      static constexpr uint32_t kWireTypes[] = {kWireVarint, kWireFixed32, kWireFixed64, kWireLength, kWireStartGroup};
      const UnknownField& field = peer.field(f);
      const UnknownRecord& ours = all[static_cast<size_t>(f)];
      ASSERT_EQ(ours.number, static_cast<uint32_t>(field.number())) << to_hex(wire);
      ASSERT_EQ(ours.wire_type, kWireTypes[field.type()]) << to_hex(wire);
      if (field.type() == UnknownField::TYPE_LENGTH_DELIMITED) ASSERT_EQ(ours.value, field.length_delimited());
      uint64_t value = 0;
      if (field.type() != UnknownField::TYPE_VARINT) continue;
      ASSERT_NE(read_varint(ours.value.data(), ours.value.data() + ours.value.size(), &value), nullptr);
      ASSERT_EQ(value, field.varint());
    }
  }
  EXPECT_GT(taken, 5000 * testing::test_factor());
}

TEST(UnknownRecords, VarintsAreReadAsTheyWereAppended) {
  std::mt19937_64 random(18);
  for (int i = 0; i < 1000; ++i) {
    uint64_t value = testing::random_number(random), again = 0;
    std::string bytes;
    append_varint(&bytes, value);
    const char* end = bytes.data() + bytes.size();
    ASSERT_EQ(read_varint(bytes.data(), end, &again), end);
    ASSERT_EQ(again, value);
    ASSERT_EQ(read_varint(bytes.data(), end - 1, &again), nullptr);
  }
}

}  // namespace
}  // namespace drover::message
