// Decoding by example: each kind, each error, pieces, aliasing. Random messages are in differential_test.cc.
#include "codec/decode/decode.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drover {
namespace {

using testing::from_hex;
using testing::TestObject;
using testing::TestSchema;

const TestSchema& every() { return testing::every_schema(); }
const TestSchema& proto3() { return testing::implicit_schema(); }

DecodeResult decode_every(const std::string& wire) { return TestObject(every().type("t.Every")).decode(wire); }

std::string text_of(const std::string& wire) {
  TestObject object(every().type("t.Every"));
  DecodeResult result = object.decode(wire);
  return result.ok() ? object.text() : to_string(result);
}

TEST(Decode, EmptyInputIsTheEmptyMessage) { EXPECT_EQ(text_of(""), ""); }

TEST(Decode, ScalarsOfEveryKindAreRead) {
  EXPECT_EQ(text_of(from_hex("09 000000000000f83f 15 0000c0bf 18 01 20 ffffffffffffffffff01")),
            "f1: 1.5\nf2: -1.5\nf3: 1\nf4: 18446744073709551615\n");
  EXPECT_EQ(text_of(from_hex("28 ffffffffffffffffff01 31 0100000000000000 3d 02000000 40 01")),
            "f5: -1\nf6: 1\nf7: 2\nf8: true\n");
  EXPECT_EQ(text_of(from_hex("4a 03 616263 62 02 00ff 68 ac02 70 01")),
            "f9: \"abc\"\nf12: \"\\000\\377\"\nf13: 300\nf14: ONE\n");
  EXPECT_EQ(text_of(from_hex("7d ffffffff 8101 feffffffffffffff 8801 03 9001 01")),
            "f15: -1\nf16: -2\nf17: -2\nf18: -1\n");
}

TEST(Decode, MessagesAndGroupsNest) {
  EXPECT_EQ(text_of(from_hex("5a 04 5a 02 28 07")), "f11 {\n  f11 {\n    f5: 7\n  }\n}\n");
  EXPECT_EQ(text_of(from_hex("53 08 05 12 02 28 01 54")), "G10 {\n  a: 5\n  b {\n    f5: 1\n  }\n}\n");
}

TEST(Decode, WhatComesLaterWinsAndMessagesMerge) {
  EXPECT_EQ(text_of(from_hex("28 01 28 02 4a 01 61 4a 01 62")), "f5: 2\nf9: \"b\"\n");
  EXPECT_EQ(text_of(from_hex("5a 02 28 07 5a 03 4a 01 61")), "f11 {\n  f5: 7\n  f9: \"a\"\n}\n");
}

TEST(Decode, PackedAndUnpackedAreBothAcceptedForEither) {
  std::string packed = from_hex("ca06 03 01 02 03");           // r5, declared unpacked
  std::string unpacked = from_hex("e83e 01 e83e 02 e83e 03");  // p5, declared packed
  EXPECT_EQ(text_of(packed), "r5: 1\nr5: 2\nr5: 3\n");
  EXPECT_EQ(text_of(unpacked), "p5: 1\np5: 2\np5: 3\n");
  EXPECT_EQ(text_of(packed + unpacked + packed), "r5: 1\nr5: 2\nr5: 3\nr5: 1\nr5: 2\nr5: 3\np5: 1\np5: 2\np5: 3\n");
}

TEST(Decode, UnknownValuesOfClosedEnumsBecomeUnknownFields) {
  TestObject object(every().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("70 02 70 01 b23f 03 00 02 01")).ok());
  EXPECT_EQ(object.text(), "f14: ONE\np14: ZERO\np14: ONE\n14: 2\n1014: 2\n");
}

TEST(Decode, OneofMembersReplaceEachOther) {
  std::string number = from_hex("887d 07"), text = from_hex("927d 03 616263"), message = from_hex("9a7d 02 28 01");
  EXPECT_EQ(text_of(number + text), "o2: \"abc\"\n");
  EXPECT_EQ(text_of(text + message), "o3 {\n  f5: 1\n}\n");
  EXPECT_EQ(text_of(message + text + number), "o1: 7\n");
  EXPECT_EQ(text_of(message + message), "o3 {\n  f5: 1\n}\n");
}

TEST(Decode, AKnownFieldWithAnotherLegalWireTypeIsUnknown) {
  TestObject object(every().type("t.Every"));
  std::string wire = from_hex("2d 01000000 29 0100000000000000 2a 01 61 48 05");
  ASSERT_TRUE(object.decode(wire).ok());
  EXPECT_EQ(object.get()->drover_unknown(), wire);
  EXPECT_EQ(object.encode(), wire);
}

TEST(Decode, UnknownFieldsAreKeptInOrderAndGoOutBehindTheKnownOnes) {
  TestObject object(every().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("f83f 8100 28 01 fb3f 08 05 fc3f f23f 02 6869")).ok());
  EXPECT_EQ(object.encode(), from_hex("28 01 f83f 01 fb3f 08 05 fc3f f23f 02 6869"));
}

TEST(Decode, MapsKeepOneEntryAKeyAndTheLastWins) {
  TestObject object(every().type("t.Maps"));
  ASSERT_TRUE(object.decode(from_hex("0a 05 0a 01 61 10 01  0a 05 0a 01 62 10 02  0a 05 0a 01 61 10 03")).ok());
  EXPECT_EQ(object.text(), "m1 {\n  key: \"a\"\n  value: 3\n}\nm1 {\n  key: \"b\"\n  value: 2\n}\n");
}

TEST(Decode, MapEntriesMayLackKeyOrValue) {
  TestObject object(every().type("t.Maps"));
  ASSERT_TRUE(object.decode(from_hex("0a 00  0a 02 10 09  1a 00")).ok());
  EXPECT_EQ(object.encode(), from_hex("0a 04 0a 00 10 09  1a 04 08 00 12 00"));
}

TEST(Decode, AMapEntryWithAnUnknownClosedEnumValueIsUnknown) {
  TestObject object(every().type("t.Maps"));
  ASSERT_TRUE(object.decode(from_hex("22 04 08 01 10 02  4a 05 0a 01 61 10 07")).ok());
  EXPECT_EQ(object.get()->drover_unknown(), from_hex("22 04 08 01 10 02  4a 05 0a 01 61 10 07"));
}

TEST(Decode, AMapOfManyEntriesIsFoundByKey) {
  TestObject object(every().type("t.Maps"));
  std::string wire;
  for (int i = 0; i < 200; ++i) wire += from_hex("42 04 08") + static_cast<char>(i % 100) + from_hex("10 01");
  ASSERT_TRUE(object.decode(wire).ok());
  EXPECT_EQ(object.encode(), wire.substr(0, wire.size() / 2));
}

// ---- errors

struct ErrorCase {
  const char* name;
  const char* hex;
  DecodeError error;
  size_t offset;
  const char* message = "t.Every";
};
void PrintTo(const ErrorCase& error_case, std::ostream* out) { *out << error_case.name; }

class DecodeErrors : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(DecodeErrors, AreNamedWithTheirPlace) {
  const ErrorCase& expected = GetParam();
  DecodeResult result = decode_every(from_hex(expected.hex));
  EXPECT_EQ(decode_error_name(result.error), std::string(decode_error_name(expected.error)));
  EXPECT_EQ(result.offset, expected.offset) << to_string(result);
  EXPECT_STREQ(result.message_name, expected.message);
}

INSTANTIATE_TEST_SUITE_P(
    Malformed, DecodeErrors,
    ::testing::Values(ErrorCase{"VarintWithoutEnd", "28 80", DecodeError::kTruncated, 2},
                      ErrorCase{"TagAlone", "28", DecodeError::kTruncated, 1},
                      ErrorCase{"TagCutOff", "28 01 80", DecodeError::kTruncated, 3},
                      ErrorCase{"FixedCutOff", "09 01020304050607", DecodeError::kTruncated, 8},
                      ErrorCase{"LengthCutOff", "4a", DecodeError::kTruncated, 1},
                      ErrorCase{"VarintOfElevenBytes", "28 ffffffffffffffffffff01", DecodeError::kOverlongVarint, 1},
                      ErrorCase{"TagOfSixBytes", "a88080808000 01", DecodeError::kOverlongVarint, 0},
                      ErrorCase{"LengthOfSixBytes", "4a 8380808080 00 616263", DecodeError::kOverlongVarint, 1},
                      ErrorCase{"FieldNumberZero", "28 01 00 01", DecodeError::kBadTag, 2},
                      ErrorCase{"FieldNumberZeroWithLength", "02 00", DecodeError::kBadTag, 0},
                      ErrorCase{"GroupCutOff", "53 80", DecodeError::kTruncated, 2, "t.Every.G10"},
                      ErrorCase{"FieldNumberTooHigh", "808080807f 01", DecodeError::kBadTag, 0},
                      ErrorCase{"WireType6", "2e 01", DecodeError::kBadTag, 0},
                      ErrorCase{"WireType7", "2f 01", DecodeError::kBadTag, 0},
                      ErrorCase{"EndGroupWithoutStart", "28 01 54", DecodeError::kUnmatchedEndGroup, 2},
                      ErrorCase{"GroupThatNothingEnds", "53 08 01", DecodeError::kUnmatchedEndGroup, 3, "t.Every.G10"},
                      ErrorCase{"GroupEndedByAnother", "53 08 01 5c", DecodeError::kUnmatchedEndGroup, 3,
                                "t.Every.G10"},
                      ErrorCase{"UnknownGroupThatNothingEnds", "fb3f 08 01", DecodeError::kUnmatchedEndGroup, 4},
                      ErrorCase{"StringPastTheEnd", "28 01 4a 04 616263", DecodeError::kLengthPastEnd, 3},
                      ErrorCase{"UnknownStringPastTheEnd", "f23f 04 616263", DecodeError::kLengthPastEnd, 2},
                      ErrorCase{"HugeLength", "4a ffffffff07", DecodeError::kLengthPastEnd, 1},
                      ErrorCase{"LengthOver2GiB", "4a ffffffff0f", DecodeError::kTooLarge, 1},
                      ErrorCase{"MessagePastTheEnd", "5a 02 28", DecodeError::kLengthPastEnd, 1},
                      ErrorCase{"FieldPastItsMessage", "5a 02 4a 05 616263 28 01", DecodeError::kLengthPastEnd, 3},
                      ErrorCase{"VarintPastItsMessage", "5a 02 28 80 01", DecodeError::kTruncated, 4},
                      ErrorCase{"PackedPastTheEnd", "ea3e 05 01", DecodeError::kLengthPastEnd, 2},
                      ErrorCase{"PackedVarintCutOff", "ea3e 01 80", DecodeError::kTruncated, 4},
                      ErrorCase{"PackedFixedOfOddSize", "ca3e 07 01020304050607", DecodeError::kTruncated, 3}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Decode, TheMessageAndFieldOfAnErrorAreTold) {
  DecodeResult result = TestObject(every().type("t.Maps")).decode(from_hex("1a 08 08 01 12 04 5a 02 28 80"));
  EXPECT_EQ(to_string(result), "truncated at byte 10, in field 5 of t.Every");
}

TEST(Decode, NestingIsLimited) {
  auto nested = [](int depth) {
    std::string wire;
    for (int i = 0; i < depth; ++i) {
      std::string length;
      for (size_t n = wire.size(); length.empty() || n != 0; n >>= 7) {
        length += static_cast<char>(n >= 0x80 ? (n & 0x7f) | 0x80 : n);
        if (n < 0x80) break;
      }
      wire = "\x5a" + length + wire;
    }
    return wire;
  };
  EXPECT_TRUE(decode_every(nested(100)).ok());
  EXPECT_EQ(decode_every(nested(101)).error, DecodeError::kDepthLimit);
  EXPECT_EQ(decode_every(std::string(101, '\x53')).error, DecodeError::kDepthLimit);
  std::string unknown;
  for (int i = 0; i < 101; ++i) unknown += from_hex("fb3f");
  EXPECT_EQ(decode_every(unknown).error, DecodeError::kDepthLimit);
}

TEST(Decode, Utf8IsCheckedWhereTheSchemaSaysSo) {
  for (const char* bad :
       {"80", "c080", "c1bf", "e08080", "eda080", "f08080 80", "f4908080", "f5808080", "c2", "e282"}) {
    std::string bytes = from_hex(bad);
    std::string wire = "\x4a" + std::string(1, static_cast<char>(bytes.size())) + bytes;
    EXPECT_EQ(TestObject(proto3().type("t3.Implicit")).decode(wire).error, DecodeError::kBadUtf8) << bad;
    EXPECT_TRUE(decode_every(wire).ok()) << "proto2 takes any bytes";
  }
  for (const char* good : {"c3a4", "e282ac", "f09f9880", "ed9fbf", "ee8080", "f48fbfbf", "00", "7f"}) {
    std::string bytes = std::string(40, 'x') + from_hex(good) + std::string(17, 'y');
    std::string wire = "\x4a" + std::string(1, static_cast<char>(bytes.size())) + bytes;
    EXPECT_TRUE(TestObject(proto3().type("t3.Implicit")).decode(wire).ok()) << good;
  }
}

// A source with nothing left behind the first few bytes.
class NoBlocks final : public BlockSource {
 public:
  Block allocate_block(size_t) override { return {}; }
  void free_block(void*, size_t) override {}
};

TEST(Decode, AnArenaThatRunsOutIsAnError) {
  schema::MessageType type = every().type("t.Every");
  std::string wire =
      from_hex("5a 04 5a 02 28 07 4a 12 616263646566676869 616263646566676869 ca06 03 01 02 03 6a 00 f23f 03 616263") +
      from_hex("ea06 01 61 fa06 02 28 01");
  int failures = 0;
  for (size_t room = 0; room < 16384; room += 8) {
    std::vector<uint64_t> memory(room / 8 + 1);
    NoBlocks none;
    Arena arena(none, memory.data(), room);
    TestObject object(type);
    DecodeResult result = drover::decode(type, object.get(), wire, arena);
    if (result.ok()) break;
    EXPECT_EQ(result.error, DecodeError::kOutOfMemory) << to_string(result);
    ++failures;
  }
  EXPECT_GT(failures, 10);
}

// ---- pieces and aliases

std::string long_wire() {
  std::string wire = from_hex("28 ffffffffffffffffff01 4a 28") + std::string(40, 's') + from_hex("5a 18 4a 14") +
                     std::string(20, 't') + from_hex("28 05 ca06 06 01 8001 02 03 04");
  wire += from_hex("ea06 01 61 ea06 02 6262 ea06 1e") + std::string(30, 'u') + from_hex("f23f 14") +
          std::string(20, 'v') + from_hex("ca3e 10 0102030405060708 1112131415161718 53 08 05 54");
  return wire;
}

TEST(Decode, PiecesMayBeCutAnywhere) {
  std::string wire = long_wire();
  TestObject whole(every().type("t.Every"));
  ASSERT_TRUE(whole.decode(wire).ok());
  for (size_t first = 0; first <= wire.size(); ++first) {
    for (size_t second = first; second <= wire.size(); second += 1 + (second - first) / 3) {
      std::string a = wire.substr(0, first), b = wire.substr(first, second - first), c = wire.substr(second);
      std::string_view pieces[] = {a, b, {}, c};
      for (bool alias : {false, true}) {
        TestObject object(every().type("t.Every"));
        DecodeResult result = object.decode(pieces, {.alias = alias});
        ASSERT_TRUE(result.ok()) << first << " " << second << " " << to_string(result);
        ASSERT_TRUE(message::equal(object.type(), *object.get(), *whole.get())) << first << " " << second;
      }
    }
  }
}

TEST(Decode, OneByteAPieceWorksToo) {
  std::string wire = long_wire();
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < wire.size(); ++i) pieces.push_back(std::string_view(wire).substr(i, 1));
  TestObject whole(every().type("t.Every")), object(every().type("t.Every"));
  ASSERT_TRUE(whole.decode(wire).ok());
  ASSERT_TRUE(object.decode(pieces).ok());
  EXPECT_TRUE(message::equal(object.type(), *object.get(), *whole.get()));
}

TEST(Decode, TruncationAnywhereIsAnErrorOrAShorterMessage) {
  std::string wire = long_wire();
  for (size_t size = 0; size < wire.size(); ++size) {
    std::string cut = wire.substr(0, size);  // its own allocation, so that ASan sees reads behind it
    TestObject object(every().type("t.Every"));
    auto peer = every().peer("t.Every");
    EXPECT_EQ(object.decode(cut).ok(), peer->ParseFromString(cut)) << size;
  }
}

TEST(Decode, AliasedStringsReferToTheWireAndAreTerminatedInPlace) {
  std::string wire = long_wire();
  TestObject copied(every().type("t.Every")), aliased(every().type("t.Every"));
  ASSERT_TRUE(copied.decode(wire).ok());
  std::vector<char> buffer(wire.begin(), wire.end());
  buffer.push_back('x');
  ASSERT_TRUE(
      aliased.decode(std::string_view(buffer.data(), wire.size()), {.alias = true, .terminate_aliases = true}).ok());
  EXPECT_TRUE(message::equal(aliased.type(), *aliased.get(), *copied.get()));
  const auto* field = every().type("t.Every").find_field(9);
  auto* string = reinterpret_cast<const String*>(aliased.get()->drover_bytes() + field->offset);
  EXPECT_TRUE(string->borrowed());
  EXPECT_TRUE(string->terminated());
  EXPECT_EQ(std::string(string->c_str()), std::string(40, 's'));
  EXPECT_GE(string->c_str(), buffer.data());
  EXPECT_LT(string->c_str(), buffer.data() + buffer.size());
}

TEST(Decode, AStringAtTheVeryEndIsTerminatedInTheExtraByte) {
  std::string wire = from_hex("4a 14") + std::string(20, 'z');
  std::vector<char> buffer(wire.begin(), wire.end());
  buffer.push_back('x');
  TestObject object(every().type("t.Every"));
  ASSERT_TRUE(
      object.decode(std::string_view(buffer.data(), wire.size()), {.alias = true, .terminate_aliases = true}).ok());
  EXPECT_EQ(buffer.back(), '\0');
}

TEST(Decode, ShortStringsAreCopiedBelowTheAliasSize) {
  std::string wire = from_hex("4a 03 616263") + std::string(1, '\x62') + from_hex("14") + std::string(20, 'b');
  TestObject object(every().type("t.Every"));
  ASSERT_TRUE(object.decode(wire, {.alias = true, .min_alias_size = 10}).ok());
  auto string = [&](uint32_t number) {
    return reinterpret_cast<const String*>(object.get()->drover_bytes() +
                                           every().type("t.Every").find_field(number)->offset);
  };
  EXPECT_FALSE(string(9)->borrowed());
  EXPECT_TRUE(string(12)->borrowed());
  EXPECT_FALSE(string(12)->terminated());
}

TEST(Decode, ReceivedObjectsAreMarkedAsReadOnly) {
  TestObject object(every().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("5a 02 28 01"), {.received = true}).ok());
  const auto* field = every().type("t.Every").find_field(11);
  auto* sub = reinterpret_cast<const OffsetPtr<Message>*>(object.get()->drover_bytes() + field->offset)->get();
  EXPECT_EQ(sub->drover_owner_word(), kReceived);
}

// ---- in slices

// Counts the pauses of a decode, and ends it at one of them.
struct Pauses {
  size_t end_at = SIZE_MAX;
  size_t count = 0;
  Pause pause() {
    return {[](void* self) {
              auto& pauses = *static_cast<Pauses*>(self);
              return ++pauses.count < pauses.end_at;
            },
            this};
  }
};

TEST(DecodeInSlices, SlicesMayEndAnywhere) {
  const std::string wire = long_wire();
  TestObject whole(every().type("t.Every"));
  ASSERT_TRUE(whole.decode(wire).ok());
  for (uint32_t slice = 1; slice <= wire.size(); ++slice) {
    for (bool alias : {false, true}) {
      Pauses pauses;
      TestObject object(every().type("t.Every"));
      DecodeResult result = object.decode(wire, {.alias = alias, .pause = pauses.pause(), .slice_bytes = slice});
      ASSERT_TRUE(result.ok()) << slice << " " << to_string(result);
      ASSERT_TRUE(message::equal(object.type(), *object.get(), *whole.get())) << slice;
    }
  }
}

// A message of half a megabyte, and at how many pauses the least its work is cut: of wire bytes, of elements that move
// to a larger array, and of entries whose map gets a larger index.
struct LargeCase {
  const char* name;
  const char* type;
  std::string wire;
  size_t least;
};

std::vector<LargeCase> large_cases() {
  constexpr size_t kBytes = 1 << 19, kSlices = kBytes / (8 << 10), kParts = kSlices / 9;
  auto times = [](const std::string& unit) {
    std::string wire;
    while (wire.size() + unit.size() <= kBytes) wire += unit;
    return wire;
  };
  auto sized = [](const char* tag, const std::string& content) {
    std::string length;
    for (size_t n = content.size(); n != 0; n >>= 7) length.push_back(static_cast<char>((n & 127) | (n > 127) << 7));
    return from_hex(tag) + length + content;
  };
  std::string entries;
  for (uint32_t key = 0; key < kBytes / 7; ++key) {
    entries += from_hex("2a 05 0d") + std::string(reinterpret_cast<const char*>(&key), 4);
  }
  return {
      {"unknown fields", "t.Every", times(from_hex("a00601")), kSlices - 2},
      {"an unknown group", "t.Every", from_hex("a306") + times(from_hex("0801")) + from_hex("a406"), kSlices - 2},
      {"an unknown string", "t.Every", sized("a206", times("x")), kParts},
      {"messages", "t.Required", times(from_hex("1a00")), kSlices - 2 + kBytes / 2 / 8192},
      {"nested messages", "t.Every", times(from_hex("5a022801")), kSlices - 2},
      {"strings", "t.Every", times(from_hex("ea060161")), kSlices - 2 + kBytes / 4 / 8192},
      {"numbers", "t.Every", times(from_hex("c80601")), kSlices - 2},
      {"packed numbers", "t.Every", sized("ea3e", times(from_hex("01"))), kSlices - 2},
      {"packed long numbers", "t.Every", sized("da3e", times(from_hex("80808080808001"))), kSlices - 2},
      {"packed fixed numbers", "t.Every", sized("ca3e", times("eight...")), kParts},
      {"one string", "t.Every", sized("4a", times("\xc3\xa4")), kParts},
      {"one field of bytes", "t.Every", sized("62", times("x")), kParts},
      {"map entries of one key", "t.Maps", times(from_hex("1a00")), kSlices - 2},
      {"map entries", "t.Maps", entries, kSlices - 2 + kBytes / 7 / 8192 + kBytes / 7 / 2048},
  };
}

TEST(DecodeInSlices, WhateverIsLargeIsCutIntoPieces) {
  for (const LargeCase& one : large_cases()) {
    for (bool alias : {false, true}) {
      TestObject whole(every().type(one.type)), cut(every().type(one.type));
      ASSERT_TRUE(whole.decode(one.wire).ok()) << one.name;
      Pauses pauses;
      ASSERT_TRUE(cut.decode(one.wire, {.alias = alias, .pause = pauses.pause()}).ok()) << one.name;
      EXPECT_TRUE(message::equal(cut.type(), *cut.get(), *whole.get())) << one.name;
      EXPECT_GE(pauses.count, one.least) << one.name;
    }
  }
}

TEST(DecodeInSlices, APauseMayEndTheDecode) {
  for (const LargeCase& one : large_cases()) {
    Pauses all;
    ASSERT_TRUE(TestObject(every().type(one.type)).decode(one.wire, {.pause = all.pause()}).ok());
    for (size_t end_at = 1; end_at <= all.count; end_at += 1 + all.count / 13) {
      Pauses pauses{.end_at = end_at};
      DecodeResult result = TestObject(every().type(one.type)).decode(one.wire, {.pause = pauses.pause()});
      EXPECT_EQ(result.error, DecodeError::kOutOfMemory) << one.name;
      EXPECT_EQ(pauses.count, end_at) << one.name << ": it went on after its end";
    }
  }
}

}  // namespace
}  // namespace drover
