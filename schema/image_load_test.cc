// The loader: every class of damage has its own error, and no accepted image leads to a read outside of it.
#include "schema/image_load.h"

#include <chrono>
#include <cstring>
#include <random>
#include <string>

#include "schema/image_walk.h"
#include "schema/proto_text.h"

namespace drover::schema {
namespace {

const char* const kSchema =
    "syntax = 'proto2'; package p;"
    "enum Color { option allow_alias = true; RED = 1; GREEN = 2; GRUEN = 2; ROT = 1; }"
    "enum Other { X = 0; }"
    "message M {"
    "  optional int32 a = 1 [default = 7];"
    "  optional string s = 2 [default = 'text'];"
    "  optional Color color = 3;"
    "  repeated int32 r = 4 [packed = true];"
    "  map<string, N> m = 5;"
    "  oneof o { int64 x = 6; string y = 7; N z = 8; }"
    "  required bool q = 9;"
    "  optional N sparse = 100000;"
    "  repeated string t = 10;"
    "}"
    "message N { optional M m = 1; oneof first { bool b = 2; } oneof second { bool c = 3; } }"
    "message Open { extensions 100 to 200; } message Shut {} extend Open { optional N e = 100; }";

// A valid image whose tables a test may change; `load` sets the checksum right and loads it.
class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    BuildResult built = build_image(parse_protos({{"p.proto", kSchema}}));
    ASSERT_EQ(built.error, "");
    bytes_ = built.image;
  }
  template <typename T>
  T* table(uint32_t offset) {
    return reinterpret_cast<T*>(bytes_.data() + offset);
  }
  ImageHeader& header() { return *table<ImageHeader>(0); }
  uint32_t message_index(const char* name) {
    Image image = Image::from_trusted(static_cast<const void*>(bytes_.data()));
    return static_cast<uint32_t>(image.find_message(name, std::strlen(name)));
  }
  MessageEntry& message(const char* name) { return table<MessageEntry>(header().messages)[message_index(name)]; }
  FieldEntry& field(const char* name, uint32_t number) {
    const MessageEntry& m = message(name);
    for (uint32_t i = 0; i < m.field_count; ++i) {
      FieldEntry& f = table<FieldEntry>(header().fields)[m.first_field + i];
      if (f.number == number) return f;
    }
    ADD_FAILURE() << name << " has no field " << number;
    return table<FieldEntry>(header().fields)[0];
  }
  EnumEntry& enum_at(uint32_t i) { return table<EnumEntry>(header().enums)[i]; }
  EnumValueEntry& alias() { return value_at(enum_at(0).first_value + enum_at(0).value_count); }  // the first
  EnumValueEntry& value_at(uint32_t i) { return table<EnumValueEntry>(header().enum_values)[i]; }

  LoadResult load() {
    uint32_t sum = image_checksum(reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    std::memcpy(bytes_.data() + offsetof(ImageHeader, checksum), &sum, sizeof(sum));
    return load_as_is();
  }
  LoadResult load_as_is() {
    OwnedImage image;
    LoadResult result = OwnedImage::load(bytes_, &image);
    EXPECT_EQ(result.ok(), image.valid());
    return result;
  }
  void expect(LoadError error) {
    LoadResult result = load();
    EXPECT_EQ(result.error, error) << load_message(result);
  }

  std::string bytes_;
};

TEST_F(Damaged, NotAtAllLoads) {
  EXPECT_EQ(load().error, LoadError::kOk);
  EXPECT_EQ(load_as_is().error, LoadError::kOk);
}

TEST_F(Damaged, MisalignedBytesAreRefused) {
  auto words = std::make_unique<uint64_t[]>(bytes_.size() / 8 + 2);
  char* odd = reinterpret_cast<char*>(words.get()) + 4;
  std::memcpy(odd, bytes_.data(), bytes_.size());
  Image image;
  EXPECT_EQ(Image::load(odd, bytes_.size(), &image).error, LoadError::kMisaligned);
  EXPECT_FALSE(image.valid());
}

TEST_F(Damaged, EveryTruncationIsRefused) {
  std::string whole = bytes_;
  for (size_t size = 0; size < whole.size(); ++size) {
    bytes_ = whole.substr(0, size);
    EXPECT_EQ(load_as_is().error, LoadError::kTruncated) << size;
  }
  bytes_ = whole + std::string(8, '\0');
  EXPECT_EQ(load_as_is().error, LoadError::kBadSize);
}

TEST_F(Damaged, HeaderWordsAreChecked) {
  std::string whole = bytes_;
  header().magic ^= 1;
  expect(LoadError::kBadMagic);
  bytes_ = whole;
  header().version = 1;
  expect(LoadError::kBadVersion);
  bytes_ = whole;
  header().header_size = 56;
  expect(LoadError::kBadHeaderSize);
  bytes_ = whole;
  header().checksum ^= 1;
  EXPECT_EQ(load_as_is().error, LoadError::kBadChecksum);
}

TEST_F(Damaged, EveryFlippedBitBreaksTheChecksumOrTheHeader) {
  for (size_t bit = 0; bit < bytes_.size() * 8; ++bit) {
    bytes_[bit / 8] = static_cast<char>(bytes_[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(load_as_is().ok()) << bit;
    bytes_[bit / 8] = static_cast<char>(bytes_[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST_F(Damaged, TablesMustLieInsideAlignedAndApart) {
  std::string whole = bytes_;
  for (uint32_t offset : {16u, 24u, 32u, 40u}) {  // the counts
    *table<uint32_t>(offset) = 0x10000000;
    expect(LoadError::kBadTable);
    bytes_ = whole;
  }
  for (uint32_t offset : {20u, 28u, 36u, 44u, 48u, 56u}) {  // the offsets
    *table<uint32_t>(offset) += 4;
    expect(LoadError::kBadTable);
    bytes_ = whole;
    *table<uint32_t>(offset) = 0;
    expect(LoadError::kBadTable);
    bytes_ = whole;
    *table<uint32_t>(offset) = 0xFFFFFFF8;
    expect(LoadError::kBadTable);
    bytes_ = whole;
  }
  header().strings_size += 8;
  expect(LoadError::kBadTable);
  bytes_ = whole;
  bytes_.back() = 'x';
  expect(LoadError::kBadString);
}

#define DAMAGE(test, error, change) \
  TEST_F(Damaged, test) {           \
    change;                         \
    expect(LoadError::error);       \
  }

DAMAGE(AMessageNameOutsideTheStrings, kBadString, message("p.M").name = header().size)
DAMAGE(AMessageNameInFrontOfTheStrings, kBadString, message("p.M").name = 64)
DAMAGE(AFieldNameOutsideTheStrings, kBadString, field("p.M", 1).name = 0xFFFFFFFF)
DAMAGE(AJsonNameOutsideTheStrings, kBadString, field("p.M", 1).json_name = 0)
DAMAGE(AnEnumNameOutsideTheStrings, kBadString, enum_at(0).name = 0)
DAMAGE(AnEnumValueNameOutsideTheStrings, kBadString, value_at(1).name = 1)
DAMAGE(MessagesOutOfOrder, kBadOrder, message("p.N").name = message("p.M").name)
DAMAGE(EnumsOutOfOrder, kBadOrder, enum_at(1).name = enum_at(0).name)
DAMAGE(EnumValuesOutOfOrder, kBadOrder, value_at(1).number = value_at(0).number)
DAMAGE(FieldNumbersOutOfOrder, kBadOrder, field("p.M", 2).number = 1)
DAMAGE(AFieldNumberOfZero, kBadOrder, field("p.M", 1).number = 0)
DAMAGE(AFieldNumberTooLarge, kBadOrder, field("p.M", 100000).number = 0x20000000)
DAMAGE(FieldsThatDoNotFollow, kBadRange, message("p.N").first_field -= 1)
DAMAGE(MoreFieldsThanThereAre, kBadRange, message("p.N").field_count = 0xFFFFFFFF)
DAMAGE(SlotsThatDoNotFollow, kBadRange, message("p.N").slots += 8)
DAMAGE(StepsThatDoNotFollow, kBadRange, message("p.N").steps += 8)
DAMAGE(TooManySlots, kBadRange, message("p.N").slot_count = 0x7FFFFFFF)
DAMAGE(TooFewSlots, kBadRange, message("p.N").slot_count = 31)
DAMAGE(ASlotThatIsWrong, kBadLookup, table<FieldStep>(message("p.M").slots)[1].op ^= 1)
DAMAGE(ASlotWithoutAField, kBadLookup, table<FieldStep>(message("p.M").slots)[0].position = 0xFFFF)
DAMAGE(ASlotBehindTheLastField, kBadLookup, table<FieldStep>(message("p.M").slots)[31].op = 2)
DAMAGE(TheStepInFrontOfTheFirst, kBadLookup, (table<FieldStep>(message("p.M").steps) - 1)->has_bit = 0)
DAMAGE(AStepThatIsWrong, kBadLookup, table<FieldStep>(message("p.M").steps)[2].offset += 8)
DAMAGE(EnumValuesThatDoNotFollow, kBadRange, enum_at(1).first_value = 0)
DAMAGE(MoreEnumValuesThanThereAre, kBadRange, enum_at(0).value_count = 0xFFFFFFFF)
DAMAGE(AnEnumWithoutValues, kBadRange, enum_at(0).value_count = 0)
DAMAGE(AnEnumDefaultThatIsNoValue, kBadEnum, enum_at(0).default_value = 9)
DAMAGE(AnEnumAliasNameOutsideTheStrings, kBadString, alias().name = 1)
DAMAGE(AnEnumAliasOfNoValue, kBadEnum, alias().number = 77)
DAMAGE(EnumAliasesOutOfOrder, kBadEnum, std::swap(alias().number, (&alias())[1].number))
DAMAGE(MoreEnumAliasesThanThereAre, kBadRange, enum_at(0).alias_count = 0xFFFFFFFF)
DAMAGE(UnknownEnumFlags, kBadFlags, enum_at(0).flags = 2)
DAMAGE(UnknownMessageFlags, kBadFlags, message("p.M").flags |= 32)
DAMAGE(AReservedMessageWord, kNotZero, message("p.M").reserved[4] = 1)
DAMAGE(APresenceLine, kNotZero, message("p.M").presence_line = 1)
DAMAGE(AReservedEnumWord, kNotZero, enum_at(0).reserved[0] = 1)
DAMAGE(AnObjectSizeThatIsNoMultipleOf8, kBadLayout, message("p.M").object_size += 4)
DAMAGE(AnObjectTooSmallForItsFields, kBadLayout, message("p.M").object_size -= 8)
DAMAGE(AnObjectTooSmallForItsPrefix, kBadLayout, message("p.N").object_size = 16)
DAMAGE(AnObjectTooLarge, kBadLayout, message("p.M").object_size = 0x80000000)
DAMAGE(AnObjectLargerThanItsFieldsNeed, kBadLayout, message("p.N").object_size += 1024)
DAMAGE(TooManyHasWords, kBadLayout, message("p.M").has_words = 0xFFFF)
DAMAGE(TooManyOneofs, kBadLayout, message("p.M").oneof_count = 0xFFFF)
DAMAGE(KindZero, kBadKind, field("p.M", 1).kind = 0)
DAMAGE(KindNineteen, kBadKind, field("p.M", 1).kind = 19)
DAMAGE(AnUnknownLabel, kBadKind, field("p.M", 4).label = 3)
DAMAGE(AWireTypeThatIsNotTheKinds, kBadKind, field("p.M", 1).wire_type = 2)
DAMAGE(PackedOnASingularField, kBadFlags, field("p.M", 1).flags |= kFieldFlagPacked)
DAMAGE(Utf8OnAnInteger, kBadFlags, field("p.M", 1).flags |= kFieldFlagUtf8)
DAMAGE(ClosedEnumOnAString, kBadFlags, field("p.M", 2).flags |= kFieldFlagClosedEnum)
DAMAGE(RequiredOnARepeatedField, kBadFlags, field("p.M", 4).flags |= kFieldFlagRequired)
DAMAGE(RequiredInAOneof, kBadFlags, field("p.M", 6).flags |= kFieldFlagRequired)
DAMAGE(AnUnknownFieldFlag, kBadFlags, field("p.M", 1).flags |= 128)
DAMAGE(AWrongRequiredCount, kBadFlags, message("p.M").required_count = 2)
DAMAGE(PresenceWithoutAHasBit, kBadFlags, field("p.M", 1).has_bit = kNoHasBit)
DAMAGE(AHasBitOutsideTheWords, kBadHasBit, field("p.M", 1).has_bit = 32)
DAMAGE(AHasBitUsedTwice, kBadHasBit, field("p.M", 2).has_bit = field("p.M", 1).has_bit)
DAMAGE(AHasBitOnARepeatedField, kBadHasBit, field("p.M", 4).has_bit = 20)
DAMAGE(AHasBitOnAMessage, kBadHasBit, field("p.N", 1).has_bit = 0)
DAMAGE(ACaseOffsetOutsideTheCaseWords, kBadOneof, field("p.M", 6).case_offset += 4)
DAMAGE(ACaseOffsetInTheHasBits, kBadOneof, field("p.M", 6).case_offset = 16)
DAMAGE(ACaseOffsetOutsideAnyOneof, kBadOneof, field("p.M", 1).case_offset = 20)
DAMAGE(AOneofMemberWithoutCase, kBadOneof, field("p.M", 6).case_offset = 0)
DAMAGE(OneofMembersAtTwoOffsets, kBadOneof,
       (message("p.M").object_size += 8, field("p.M", 6).offset = message("p.M").object_size - 8))
DAMAGE(AFieldOverTheHeader, kBadLayout, field("p.M", 1).offset = 0)
DAMAGE(AFieldOverTheHasBits, kBadLayout, field("p.M", 1).offset = 16)
DAMAGE(AFieldBehindItsObject, kBadLayout, field("p.M", 1).offset = message("p.M").object_size)
DAMAGE(AFieldFarBehindItsObject, kBadLayout, field("p.M", 4).offset = 0xFFFFFFF8)
DAMAGE(AMisalignedField, kBadLayout, field("p.M", 1).offset += 2)
DAMAGE(AFieldOverAnother, kBadLayout, field("p.M", 4).offset = field("p.M", 2).offset)
DAMAGE(AFieldOverTheEndOfAnother, kBadLayout, field("p.M", 1).offset = field("p.M", 2).offset + 12)
DAMAGE(AFieldOverAOneof, kBadLayout, field("p.M", 1).offset = field("p.M", 6).offset + 8)
DAMAGE(TwoOneofsInOneSlot, kBadLayout, field("p.N", 3).offset = field("p.N", 2).offset)
DAMAGE(AMessageIndexOutOfRange, kBadSub, field("p.N", 1).sub = header().message_count)
DAMAGE(AnEnumIndexOutOfRange, kBadSub, field("p.M", 3).sub = header().enum_count)
DAMAGE(AMissingSub, kBadSub, field("p.N", 1).sub = kNoSub)
DAMAGE(ASubThatIsNotNeeded, kBadSub, field("p.M", 1).sub = 0)
DAMAGE(AMapOfAPlainMessage, kBadMapEntry, field("p.M", 5).sub = message_index("p.N"))
// With matching steps, as image_use_fuzz found it: only the kind is wrong.
TEST_F(Damaged, AMapFieldThatIsNoMessage) {
  FieldEntry& map = field("p.M", 5);
  map.kind = static_cast<uint8_t>(Kind::kInt32);
  map.wire_type = 0;
  map.sub = kNoSub;
  const MessageEntry& m = message("p.M");
  for (uint32_t i = 0; i < m.field_count; ++i) {
    const FieldEntry& f = table<FieldEntry>(header().fields)[m.first_field + i];
    FieldStep step = make_step(m, f, i + 1);
    table<FieldStep>(m.steps)[i] = step;
    if (f.number < m.slot_count) table<FieldStep>(m.slots)[f.number] = step;
  }
  expect(LoadError::kBadMapEntry);
}
DAMAGE(AnEntryInAPlainField, kBadMapEntry, field("p.N", 1).sub = message_index("p.M.MEntry"))
DAMAGE(AnEntryThatIsNoEntry, kBadMapEntry, message("p.M.MEntry").flags = 0)
DAMAGE(APlainMessageMarkedAsEntry, kBadMapEntry, message("p.M").flags |= kMessageFlagMapEntry)
DAMAGE(ADefaultOutsideTheStrings, kBadString, field("p.M", 1).default_value = 64)
DAMAGE(ADefaultAtTheEdge, kBadString, field("p.M", 1).default_value = header().size - 4)
DAMAGE(AMisalignedDefault, kBadString, field("p.M", 1).default_value += 4)
DAMAGE(ADefaultStringTooLong, kBadString, *table<uint32_t>(field("p.M", 2).default_value) = 0xFFFFFFFF)
DAMAGE(ADefaultStringWithoutNul, kBadString, *table<uint32_t>(field("p.M", 2).default_value) = 3)
DAMAGE(ADefaultOfARepeatedField, kBadString, field("p.M", 4).default_value = field("p.M", 1).default_value)
DAMAGE(ADefaultOfAMessage, kBadString, field("p.N", 1).default_value = field("p.M", 1).default_value)

TEST_F(Damaged, AMapEntryWithAWrongKeyKind) {
  FieldEntry& key = field("p.M.MEntry", 1);
  key.kind = static_cast<uint8_t>(Kind::kBytes);
  expect(LoadError::kBadMapEntry);
}

TEST_F(Damaged, TheTargetFlagMayBeSetOnAnyField) {
  for (uint32_t i = 0; i < header().field_count; ++i) table<FieldEntry>(header().fields)[i].flags |= kFieldFlagTarget;
  expect(LoadError::kOk);
}

TEST_F(Damaged, TheMessageTellsWhatWhereAndWhatWasExpected) {
  field("p.M", 1).wire_type = 2;
  std::string text = load_message(load());
  EXPECT_NE(text.find("bad kind in fields["), std::string::npos) << text;
  EXPECT_NE(text.find("wire_type: found 2"), std::string::npos) << text;
  EXPECT_NE(text.find("0"), std::string::npos) << text;
}

// The property that the decoder relies on, for any damage that the checksum does not detect.
TEST_F(Damaged, WhateverIsAcceptedAfterRandomDamageStaysInBounds) {
  std::mt19937_64 random(20261121);
  const std::string whole = bytes_;
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    bytes_ = whole;
    int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) {
      size_t at = 16 + random() % (bytes_.size() - 16);
      bytes_[at] =
          random() % 2 == 0 ? static_cast<char>(bytes_[at] ^ (1 << (random() % 8))) : static_cast<char>(random());
    }
    uint32_t sum = image_checksum(reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    std::memcpy(bytes_.data() + offsetof(ImageHeader, checksum), &sum, sizeof(sum));
    OwnedImage image;
    if (!OwnedImage::load(bytes_, &image).ok()) continue;
    ++accepted;
    ASSERT_TRUE(walk_image(image.image(), bytes_.size())) << "round " << round;
  }
  EXPECT_GT(accepted, 0);
}

TEST_F(Damaged, AnExtensionThatIsNotOne) {
  const std::string whole = bytes_;
  auto undamaged = [&] { bytes_ = whole; };
  message("[p.Open:100]").flags = 0;
  expect(LoadError::kBadExtension);
  undamaged();
  message("p.Shut").flags |= kMessageFlagExtension;
  expect(LoadError::kBadExtension);
  undamaged();
  message("p.N").flags |= kMessageFlagExtension;
  EXPECT_FALSE(load().ok());
  undamaged();
  message("[p.Open:100]").flags |= kMessageFlagExtensionRanges;
  expect(LoadError::kBadExtension);
  undamaged();
  field("[p.Open:100]", 100).label = kLabelMap;
  EXPECT_FALSE(load().ok());
  undamaged();
  bytes_[message("[p.Open:100]").name + 8] = '2';  // its name says that it is number 200
  expect(LoadError::kBadExtension);
  undamaged();
  message("p.Open").flags &= ~kMessageFlagExtensionRanges;
  expect(LoadError::kBadExtension);
  undamaged();
  std::memcpy(bytes_.data() + message("[p.Open:100]").name + 3, "Opem", 4);
  expect(LoadError::kBadExtension);
  undamaged();
  field("p.N", 1).sub = message_index("[p.Open:100]");
  expect(LoadError::kBadExtension);
  undamaged();
  expect(LoadError::kOk);
}

// ---- the time that a hostile image takes

double seconds_to_load(const std::string& bytes, LoadError expected) {
  auto began = std::chrono::steady_clock::now();
  OwnedImage image;
  LoadResult result = OwnedImage::load(bytes, &image);
  EXPECT_EQ(result.error, expected) << load_message(result);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::string image_bytes(const std::string& proto) {
  BuildResult built = build_image(parse_protos({{"p.proto", proto.c_str()}}));
  EXPECT_EQ(built.error, "");
  return built.image;
}

constexpr size_t kLongName = 4 << 20;

// 10,000 names that are ends of one string would take 40 GB of comparisons.
TEST(ImageLoad, NamesThatShareBytesAreRefusedBeforeTheyAreCompared) {
  constexpr uint32_t kMany = 10'000;
  std::string proto = "syntax = 'proto3'; message M { int32 " + std::string(kLongName, 'y') + " = 1; }";
  for (uint32_t i = 1; i < kMany; ++i) proto += "message m" + std::to_string(i) + " {}";
  for (uint32_t i = 0; i < 100; ++i) proto += "enum e" + std::to_string(i) + " { v" + std::to_string(i) + " = 0; }";
  const std::string whole = image_bytes(proto);
  double plain = seconds_to_load(whole, LoadError::kOk);

  for (bool enums : {false, true}) {
    std::string bytes = whole;
    auto* header = reinterpret_cast<ImageHeader*>(bytes.data());
    auto long_name = static_cast<uint32_t>(bytes.find(std::string(1000, 'y')));
    auto* messages = reinterpret_cast<MessageEntry*>(bytes.data() + header->messages);
    auto* names = reinterpret_cast<EnumEntry*>(bytes.data() + header->enums);
    uint32_t count = enums ? header->enum_count : header->message_count;
    for (uint32_t i = 0; i < count; ++i) (enums ? names[i].name : messages[i].name) = long_name + count - i;
    header->checksum = image_checksum(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    EXPECT_LT(seconds_to_load(bytes, LoadError::kBadString), 2 * plain + 0.2);
  }
}

// Each of 30,000 extensions looks for its extendee among names of 4 MB.
TEST(ImageLoad, ExtensionsAreCheckedInTheTimeThatTheirOwnNamesTake) {
  constexpr int kMany = 30'000;
  auto proto = [](const std::string& long_name, const std::string& short_name) {
    std::string text = "syntax = 'proto2'; package p; message Open { extensions 100 to max; optional int32 " +
                       short_name + " = 1; } message Open" + long_name + " {} message Opem" + long_name + " {}";
    text += "extend Open {";
    for (int i = 0; i < kMany; ++i) {
      text += "optional int32 e" + std::to_string(i) + " = " + std::to_string(20'000 + i) + ";";
    }
    return text + "}";
  };
  std::string name(kLongName, 'y');
  double plain = seconds_to_load(image_bytes(proto("a", name)), LoadError::kOk);
  double hostile = seconds_to_load(image_bytes(proto(name, "a")), LoadError::kOk);
  EXPECT_LT(hostile, 4 * plain + 0.2);
}

}  // namespace
}  // namespace drover::schema
