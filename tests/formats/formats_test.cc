// The headers that tools/formats writes, C++ beside C: the same words, the same bytes, the same names.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "channel/channel_format.h"
#include "channel/control_format.h"
#include "codec/errors_format.h"
#include "rtl/deserializer/deserializer_format.h"
#include "rtl/serializer/serializer_format.h"
#include "schema/image_format.h"
#include "tests/formats/c_side.h"

namespace drover {
namespace {

namespace deserializer = rtl::deserializer;
namespace serializer = rtl::serializer;

template <typename Word>
std::array<uint64_t, Word::kWords> encoded(const Word& word) {
  uint64_t words[Word::kWords];
  word.encode(words);
  return std::to_array(words);
}

TEST(Formats, ASideWordIsTheSameFromCAndCpp) {
  deserializer::SideWord side{.number = 0x1234567,
                              .element_op = deserializer::ElementOp::kUtf8,
                              .repeated = true,
                              .is_map = false,
                              .target = true,
                              .oneof = false,
                              .has_bit = deserializer::kHasBitNone,
                              .offset = 0xabc,
                              .case_offset = 0x9d1,
                              .sub = 0x5a5a5a5a5a5a5a};
  std::array<uint64_t, 2> words;
  drover_test_side_word(words.data());
  EXPECT_EQ(encoded(side), words);
  EXPECT_EQ(deserializer::SideWord::decode(words.data()), side);
}

TEST(Formats, ACompletionRecordIsTheSameFromCAndCpp) {
  deserializer::CompletionRecord record{.kind = deserializer::RecordKind::kSoftware,
                                        .lane = 3,
                                        .code = static_cast<uint8_t>(deserializer::SoftwareReason::kNoRun),
                                        .cookie = 0xdeadbeef,
                                        .root = 0x8123456789,
                                        .position = 0x87654321,
                                        .chunk = 0xabcdef1,
                                        .run = 0x1fedcba,
                                        .run_chunks = 0x801,
                                        .engine_run = 0x7654321,
                                        .engine_chunks = 0x0ff};
  std::array<uint64_t, 4> words;
  drover_test_completion_record(words.data());
  EXPECT_EQ(encoded(record), words);
  EXPECT_EQ(deserializer::CompletionRecord::decode(words.data()), record);
  EXPECT_EQ(drover_test_record_position(words.data()), record.position);
  EXPECT_EQ(drover_test_record_root(words.data()), record.root);
}

TEST(Formats, ACompletionRecordHasTheseBits) {
  deserializer::CompletionRecord record{.kind = deserializer::RecordKind::kError, .position = 0x01020304};
  EXPECT_EQ(encoded(record), (std::array<uint64_t, 4>{2, 0x304ull << 40 | 0x02ull << 56, 0x01, 0}))
      << "kind in bits 3:0, position in bits 135:104";
}

TEST(Formats, ACommandAndACompletionAreTheSameFromCAndCpp) {
  serializer::Command command{.records = 0x1122334455667788,
                              .payload = 0x99aabbccddeeff00,
                              .record_bytes = 0x01020304,
                              .payload_bytes = 0xf0e0d0c0,
                              .cookie = 0xbeef,
                              .message = 0x8001,
                              .walk = true,
                              .pushed = false,
                              .header_size = 64,
                              .length_format = serializer::LengthFormat::kBigEndian,
                              .length_at = 60};
  std::array<uint64_t, 4> words;
  drover_test_command(words.data());
  EXPECT_EQ(encoded(command), words);
  EXPECT_EQ(serializer::Command::decode(words.data()), command);
  serializer::Completion completion{.size = 0x80000001, .error = serializer::Error::kBus, .cookie = 0xcafe};
  EXPECT_EQ(completion.encode(), drover_test_completion());
  EXPECT_EQ(serializer::Completion::decode(completion.encode()), completion);
}

TEST(Formats, StructsHaveTheSameBytesFromCAndCpp) {
  unsigned char bytes[64] = {};
  drover_test_field_entry(bytes);
  schema::FieldEntry entry{};
  entry.number = 7;
  entry.kind = static_cast<uint8_t>(schema::Kind::kMessage);
  entry.label = schema::kLabelRepeated;
  entry.flags = schema::kFieldFlagTarget | schema::kFieldFlagExplicitPresence;
  entry.has_bit = schema::kNoHasBit;
  entry.sub = 12;
  entry.default_value = 0x01020304;
  EXPECT_EQ(std::memcmp(bytes, &entry, sizeof entry), 0);
  drover_test_call_slot(bytes);
  CallSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
  slot.method = 513;
  slot.generation = 9;
  slot.deadline_ns = kNoDeadline;
  slot.rx_chunks = 77;
  EXPECT_EQ(std::memcmp(bytes, &slot, sizeof slot), 0);
}

TEST(Formats, NamesAreTheSameFromCAndCpp) {
  for (unsigned value = 0; value < 256; ++value) {
    EXPECT_STREQ(drover_test_decode_error(value), decode_error_name(static_cast<DecodeError>(value)));
    EXPECT_STREQ(drover_test_software_reason(value),
                 deserializer::software_reason_name(static_cast<deserializer::SoftwareReason>(value)));
    EXPECT_STREQ(drover_test_control_code(value), control_code_name(static_cast<ControlCode>(value)));
  }
  EXPECT_STREQ(decode_error_name(DecodeError::kBadUtf8), "bad_utf8");
  EXPECT_STREQ(deserializer::software_reason_name(deserializer::SoftwareReason::kSplitRun), "split_run");
  EXPECT_STREQ(control_type_name(ControlType::kRegisterImage), "RegisterImage");
  EXPECT_STREQ(control_code_name(ControlCode::kBadPacket), "bad packet");
}

}  // namespace
}  // namespace drover
