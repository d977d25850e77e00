// The image's content for schemas, its look-ups, and its golden bytes.
#include "schema/image.h"

#include "schema/message_type.h"
#include "schema/proto_text.h"

namespace drover::schema {
namespace {

// Sixteen bytes a line; several lines of zeros are printed as their number.
std::string hex_lines(const std::string& bytes) {
  const std::string zeros = "00 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00\n";
  std::string out, line;
  size_t zero_lines = 0;
  char text[64];
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::snprintf(text, sizeof(text), "%02x", static_cast<unsigned char>(bytes[i]));
    line += text;
    line += i % 16 == 15 ? "\n" : i % 4 == 3 ? "  " : " ";
    if (i % 16 != 15 && i + 1 != bytes.size()) continue;
    bool is_zero = line == zeros;
    if (!is_zero && zero_lines == 1) out += zeros;
    if (!is_zero && zero_lines > 1) {
      std::snprintf(text, sizeof(text), "%zu lines of zeros\n", zero_lines);
      out += text;
    }
    zero_lines = is_zero ? zero_lines + 1 : 0;
    if (!is_zero) out += line;
    line.clear();
  }
  return out;
}

const char* const kGoldenSchema =
    "syntax = 'proto2'; package g;"
    "enum E { ONE = 1; MINUS = -1; }"
    "message M {"
    "  optional E e = 3;"
    "  optional string s = 1 [default = 'hi'];"
    "  repeated M more = 2;"
    "}";

const char* const kGoldenBytes =
    "44 52 56 49  02 00 40 00  60 02 00 00  34 a3 f4 e7\n"  // magic, version and header size, size, checksum
    "01 00 00 00  40 00 00 00  03 00 00 00  80 00 00 00\n"  // 1 message at 64, 3 fields at 128
    "01 00 00 00  e0 00 00 00  02 00 00 00  00 01 00 00\n"  // 1 enum at 224, 2 values at 256
    "10 01 00 00  20 01 00 00  30 02 00 00  30 00 00 00\n"  // 288 bytes of slots and steps at 272, strings at 560
    "40 00 00 00  01 00 00 00  00 00 00 00  03 00 00 00\n"  // g.M: 64 bytes, 1 has-word, no oneof, fields 0..2
    "10 01 00 00  20 00 00 00  40 02 00 00  00 00 00 00\n"  // slots, 32 of them, name, no flags
    "00 00 00 00  18 02 00 00  00 00 00 00  00 00 00 00\n"  // nothing required; steps
    "00 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00\n"
    "01 00 00 00  18 00 00 00  09 00 02 40  01 00 00 00\n"  // s = 1: at 24, string, explicit presence, has-bit 1
    "ff ff ff ff  44 02 00 00  44 02 00 00  38 02 00 00\n"  // no sub, names, its default
    "02 00 00 00  28 00 00 00  0b 01 02 00  ff ff 00 00\n"  // more = 2: at 40, message, repeated, no has-bit
    "00 00 00 00  46 02 00 00  46 02 00 00  00 00 00 00\n"  // of message 0
    "03 00 00 00  38 00 00 00  0e 00 00 48  00 00 00 00\n"  // e = 3: at 56, enum, closed and explicit, has-bit 0
    "00 00 00 00  4b 02 00 00  4b 02 00 00  30 02 00 00\n"  // of enum 0; its default is not zero
    "4d 02 00 00  01 00 00 00  00 00 00 00  02 00 00 00\n"  // g.E: closed, values 0..1
    "01 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00\n"  // default 1
    "ff ff ff ff  51 02 00 00  01 00 00 00  57 02 00 00\n"  // MINUS = -1, ONE = 1
    "00 00 00 00  00 00 00 00  0a 00 16 01  01 00 18 00\n"  // slots 0 and 1: tag 0a, bytes, has-bit 1, first, at 24
    "12 00 32 3f  02 00 28 00  18 00 12 00  03 00 38 00\n"  // slots 2 and 3: repeated message, no bit; closed enum
    "14 lines of zeros\n"                                   // slots 4 to 31
    "00 00 00 3f  00 00 00 00  0a 00 16 01  01 00 18 00\n"  // no more steps; the fields' steps
    "12 00 32 3f  02 00 28 00  18 00 12 00  03 00 38 00\n"
    "01 00 00 00  00 00 00 00  02 00 00 00  68 69 00 00\n"   // e's default; s's default "hi"
    "67 2e 4d 00  73 00 6d 6f  72 65 00 65  00 67 2e 45\n"   // names: g.M, s, more, e, g.E
    "00 4d 49 4e  55 53 00 4f  4e 45 00 00  00 00 00 00\n";  // MINUS, ONE

TEST(Image, HasTheGoldenBytesOfFormatVersion2) {
  BuildResult built = build_image(parse_protos({{"g.proto", kGoldenSchema}}));
  ASSERT_EQ(built.error, "");
  EXPECT_EQ(hex_lines(built.image), kGoldenBytes);
}

TEST(Image, ChecksumIsZlibsCrc32) {
  unsigned char bytes[64 + 9] = {};
  for (int i = 0; i < 9; ++i) bytes[64 + i] = static_cast<unsigned char>('1' + i);
  // CRC-32 of 64 zero bytes and "123456789", from Python's zlib.crc32.
  EXPECT_EQ(image_checksum(bytes, sizeof(bytes)), 0x7a953066u);
  bytes[12] = 77;  // the checksum field counts as zero
  EXPECT_EQ(image_checksum(bytes, sizeof(bytes)), 0x7a953066u);
}

TEST(Image, DoesNotDependOnTheOrderOfFiles) {
  std::pair<const char*, const char*> a = {"a.proto", "syntax = 'proto3'; package a; message A { int32 x = 1; }"};
  std::pair<const char*, const char*> b = {"b.proto",
                                           "syntax = 'proto3'; package b; import 'a.proto'; message B { a.A a = 1; }"};
  EXPECT_EQ(build_image(parse_protos({a, b})).image, build_image(parse_protos({b, a})).image);
}

TEST(Image, HoldsEveryMessageOfItsFilesAndWhatTheyReferTo) {
  google::protobuf::FileDescriptorSet set = parse_protos(
      {{"a.proto", "syntax = 'proto3'; package a; message Used { enum E { Z = 0; } E e = 1; } message Unused {}"},
       {"b.proto", "syntax = 'proto3'; package b; import 'a.proto'; message B { a.Used u = 1; message Nested {} }"}});
  google::protobuf::DescriptorPool pool;
  pool.BuildFile(set.file(0));
  const google::protobuf::FileDescriptor* file = pool.BuildFile(set.file(1));
  BuildResult built = build_image(FileSpan(&file, 1));
  OwnedImage image;
  ASSERT_TRUE(OwnedImage::load(built.image, &image).ok());
  EXPECT_EQ(image.image().message_count(), 3u);
  EXPECT_GE(image.image().find_message("a.Used", 6), 0);
  EXPECT_GE(image.image().find_message("b.B", 3), 0);
  EXPECT_GE(image.image().find_message("b.B.Nested", 10), 0);
  EXPECT_EQ(image.image().find_message("a.Unused", 8), -1);
  EXPECT_EQ(image.image().find_message("b.", 2), -1);
  EXPECT_EQ(image.image().find_message("", 0), -1);
  EXPECT_EQ(image.image().find_enum("a.Used.E", 8), 0);
}

TEST(Image, NamesAMissingImportAndAnImportCycle) {
  EXPECT_EQ(build_image(parse_protos({{"b.proto", "syntax = 'proto3'; import 'a.proto';"}})).error,
            "a.proto: imported, but not in the FileDescriptorSet");
  EXPECT_EQ(build_image(parse_protos({{"b.proto", "syntax = 'proto3'; import 'b.proto';"}})).error,
            "b.proto: imports itself");
  EXPECT_NE(build_image(parse_protos({{"b.proto", "syntax = 'proto3'; message M { N n = 1; }"}})).error, "");
}

TEST(Image, FindsFieldsDirectlyAndBySearch) {
  OwnedImage image =
      image_of("syntax = 'proto3'; message M { int32 a = 1; int32 c = 3; int32 far = 536870911; int32 mid = 5000; }");
  const MessageEntry& m = message_named(image, "M");
  EXPECT_EQ(m.slot_count, 32u);
  EXPECT_EQ(image.image().find_field(m, 1)->number, 1u);
  EXPECT_EQ(image.image().find_field(m, 3)->number, 3u);
  EXPECT_EQ(image.image().find_field(m, 5000)->number, 5000u);
  EXPECT_EQ(image.image().find_field(m, 536870911)->number, 536870911u);
  for (uint32_t absent : {0u, 2u, 4u, 4999u, 5001u, 536870910u, 0xFFFFFFFFu}) {
    EXPECT_EQ(image.image().find_field(m, absent), nullptr) << absent;
  }
}

TEST(Image, KnowsWhatEachSyntaxMeans) {
  OwnedImage two = image_of(
      "syntax = 'proto2'; enum E { A = 1; } message M { optional string s = 1; repeated int32 r = 2;"
      "repeated int32 p = 3 [packed = true]; optional E e = 4; required int32 q = 5;"
      "optional group G = 6 { optional int32 x = 1; } extensions 100 to 200; }");
  EXPECT_EQ(field_named(two, "M", "s").flags, kFieldFlagExplicitPresence);
  EXPECT_EQ(field_named(two, "M", "r").flags, 0);
  EXPECT_EQ(field_named(two, "M", "p").flags, kFieldFlagPacked);
  EXPECT_EQ(field_named(two, "M", "p").wire_type, 0);
  EXPECT_EQ(field_named(two, "M", "e").flags, kFieldFlagExplicitPresence | kFieldFlagClosedEnum);
  EXPECT_EQ(field_named(two, "M", "q").flags, kFieldFlagExplicitPresence | kFieldFlagRequired);
  EXPECT_EQ(field_named(two, "M", "g").kind, static_cast<uint8_t>(Kind::kGroup));
  EXPECT_EQ(field_named(two, "M", "g").wire_type, 3);
  EXPECT_EQ(message_named(two, "M").flags, kMessageFlagExtensionRanges | kMessageFlagRequiredBelow);
  EXPECT_EQ(message_named(two, "M").required_count, 1u);
  EXPECT_EQ(message_named(two, "M.G").flags, 0u);

  OwnedImage three = image_of(
      "syntax = 'proto3'; enum E { Z = 0; } message M { string s = 1; repeated int32 r = 2; bytes b = 3; E e = 4;"
      "repeated int32 u = 5 [packed = false]; repeated string t = 6; map<string, string> m = 7; }");
  EXPECT_EQ(field_named(three, "M", "s").flags, kFieldFlagUtf8);
  EXPECT_EQ(field_named(three, "M", "r").flags, kFieldFlagPacked);
  EXPECT_EQ(field_named(three, "M", "b").flags, 0);
  EXPECT_EQ(field_named(three, "M", "e").flags, 0);
  EXPECT_EQ(field_named(three, "M", "u").flags, 0);
  EXPECT_EQ(field_named(three, "M", "t").flags, kFieldFlagUtf8);
  EXPECT_EQ(field_named(three, "M.MEntry", "key").flags, kFieldFlagUtf8);
}

TEST(Image, SpreadsRequiredThroughCyclesAndMaps) {
  OwnedImage image = image_of(
      "syntax = 'proto2'; message R { required int32 x = 1; } message ByMap { map<int32, R> m = 1; }"
      "message A { optional B b = 1; } message B { optional A a = 1; repeated ByMap maps = 2; } message Free {}");
  for (const char* name : {"R", "ByMap", "A", "B", "ByMap.MEntry"}) {
    EXPECT_NE(message_named(image, name).flags & kMessageFlagRequiredBelow, 0u) << name;
  }
  EXPECT_EQ(message_named(image, "Free").flags, 0u);
}

TEST(Image, MarksMessageSets) {
  OwnedImage image =
      image_of("syntax = 'proto2'; message S { option message_set_wire_format = true; extensions 4 to max; }");
  EXPECT_EQ(message_named(image, "S").flags,
            kMessageFlagMessageSet | kMessageFlagExtensionRanges | kMessageFlagRequiredBelow);
}

TEST(Image, HoldsEachExtensionAsAMessageOfItsOwn) {
  OwnedImage image = image_of(
      "syntax = 'proto2'; package p; message M { extensions 100 to 200; extend M { repeated N in_m = 101; } }"
      "message N { required int32 x = 1; } extend M { optional int32 e = 100 [default = 7]; }");
  const MessageEntry& e = message_named(image, "[p.M:100]");
  EXPECT_EQ(e.flags, kMessageFlagExtension);
  EXPECT_EQ(e.field_count, 1u);
  const FieldEntry& field = image.image().fields(e)[0];
  EXPECT_EQ(field.number, 100u);
  EXPECT_STREQ(image.image().name(field.name), "p.e");
  EXPECT_STREQ(image.image().name(field.json_name), "[p.e]");
  EXPECT_EQ(image.image().default_scalar(field), 7u);
  const MessageEntry& in_m = message_named(image, "[p.M:101]");
  EXPECT_EQ(in_m.flags, kMessageFlagExtension | kMessageFlagRequiredBelow);
  EXPECT_EQ(image.image().fields(in_m)[0].label, kLabelRepeated);
  EXPECT_STREQ(image.image().name(image.image().fields(in_m)[0].name), "p.M.in_m");
}

TEST(Image, TakesTypeIdsBeyondFieldNumbersInMessageSetsOnly) {
  OwnedImage image = image_of(
      "syntax = 'proto2'; message S { option message_set_wire_format = true; extensions 4 to max; } message M {"
      "extend S { optional M in_set = 2147483646; } }");
  EXPECT_EQ(image.image().fields(message_named(image, "[S:2147483646]"))[0].number, 2147483646u);
}

TEST(Image, LeavesCustomOptionsOutUnlessDescriptorProtoIsGiven) {
  const char* option = "syntax = 'proto2'; package google.protobuf; message FieldOptions { extensions 1000 to max; }";
  const char* use =
      "syntax = 'proto3'; import 'google/protobuf/descriptor.proto';"
      "extend google.protobuf.FieldOptions { string hint = 50001; } message M {}";
  auto set = parse_protos({{"google/protobuf/descriptor.proto", option}, {"use.proto", use}});
  google::protobuf::DescriptorPool pool;
  std::vector<const google::protobuf::FileDescriptor*> files;
  for (const auto& file : set.file()) files.push_back(pool.BuildFile(file));
  std::string all = build_image(set).image;
  std::string one = build_image(FileSpan(&files.back(), 1)).image;
  OwnedImage all_image, one_image;
  ASSERT_TRUE(OwnedImage::load(all, &all_image).ok());
  ASSERT_TRUE(OwnedImage::load(one, &one_image).ok());
  EXPECT_EQ(all_image.image().message_count(), 3u);
  EXPECT_EQ(one_image.image().message_count(), 1u);
}

TEST(Image, KeepsDefaults) {
  OwnedImage image = image_of(
      "syntax = 'proto2'; enum E { FIRST = 7; ZERO = 0; } message M { optional int32 i = 1 [default = -3];"
      "optional double d = 2 [default = 0.5]; optional string s = 3 [default = 'abc']; optional bool b = 4 [default = "
      "true];"
      "optional E e = 5; optional E z = 6 [default = ZERO]; optional int32 none = 7; optional bytes y = 8 [default = "
      "'a\\000b'];"
      "optional string empty = 9 [default = '']; }");
  const Image& i = image.image();
  EXPECT_EQ(static_cast<int32_t>(i.default_scalar(field_named(image, "M", "i"))), -3);
  EXPECT_EQ(i.default_scalar(field_named(image, "M", "i")) >> 32, 0u);
  EXPECT_EQ(i.default_scalar(field_named(image, "M", "d")), 0x3FE0000000000000u);
  EXPECT_STREQ(i.default_string(field_named(image, "M", "s")).data, "abc");
  EXPECT_EQ(i.default_string(field_named(image, "M", "y")).size, 3u);
  EXPECT_EQ(i.default_scalar(field_named(image, "M", "b")), 1u);
  EXPECT_EQ(i.default_scalar(field_named(image, "M", "e")), 7u);
  for (const char* name : {"z", "none", "empty"}) EXPECT_EQ(field_named(image, "M", name).default_value, 0u) << name;
  EXPECT_EQ(i.default_string(field_named(image, "M", "empty")).size, 0u);
}

TEST(Image, LooksUpEnumValues) {
  OwnedImage image = image_of(
      "syntax = 'proto2'; enum E { option allow_alias = true; B = 5; A = -2; ALIAS = 5; C = 1000000; M = -2147483648;"
      "X = 2147483647; }");
  const Image& i = image.image();
  const EnumEntry& e = i.enum_entry(0);
  EXPECT_EQ(e.value_count, 5u);
  EXPECT_EQ(e.default_value, 5);
  EXPECT_EQ(e.flags, kEnumFlagClosed);
  EXPECT_STREQ(i.name(i.find_enum_value(e, 5)->name), "B");
  ASSERT_EQ(e.alias_count, 1u);
  EXPECT_EQ(Image::enum_name_count(e), 6u);
  EXPECT_STREQ(i.name(i.enum_values(e)[5].name), "ALIAS");
  EXPECT_EQ(i.enum_values(e)[5].number, 5);
  for (int32_t present : {5, -2, 1000000, INT32_MIN, INT32_MAX}) EXPECT_TRUE(i.enum_has_value(0, present)) << present;
  for (int32_t absent : {0, 4, 6, -1, 999999, INT32_MIN + 1}) EXPECT_FALSE(i.enum_has_value(0, absent)) << absent;
}

TEST(MessageType, LeadsFromAMessageToItsSubMessages) {
  OwnedImage image = image_of("syntax = 'proto3'; package p; message M { N n = 1; } message N {}");
  MessageType m{&image.image(), static_cast<uint32_t>(image.image().find_message("p.M", 3))};
  EXPECT_STREQ(m.full_name(), "p.M");
  EXPECT_STREQ(m.sub(*m.find_field(1)).full_name(), "p.N");
  EXPECT_EQ(m.fields().size(), 1u);
}

}  // namespace
}  // namespace drover::schema
