// The meaning of features in the image, wherever they are set, and the refused ones.
#include "schema/editions_text.h"

namespace drover::schema {
namespace {

using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

OwnedImage edition_2023(const char* text) { return image_of(set_of({editions_file("test.proto", text)})); }

std::string error_of(const FileDescriptorSet& set) { return build_image(set).error; }
std::string error_of(const char* text) { return error_of(set_of({editions_file("test.proto", text)})); }

uint32_t flags(const OwnedImage& image, const char* field, const char* message = "M") {
  return field_named(image, message, field).flags;
}
uint32_t kind(const OwnedImage& image, const char* field, const char* message = "M") {
  return field_named(image, message, field).kind;
}

TEST(Editions, DefaultsOf2023AreExplicitOpenPackedVerifiedAndLengthPrefixed) {
  for (uint64_t edition : {kEdition2023, kEdition2024}) {
    OwnedImage image = image_of(set_of({editions_file(
        "test.proto",
        "enum E { Z = 0; } message M { int32 i = 1; string s = 2; E e = 3; repeated int32 r = 4; M m = 5; }",
        edition)}));
    EXPECT_EQ(flags(image, "i"), kFieldFlagExplicitPresence);
    EXPECT_EQ(flags(image, "s"), kFieldFlagExplicitPresence | kFieldFlagUtf8);
    EXPECT_EQ(flags(image, "e"), kFieldFlagExplicitPresence);
    EXPECT_EQ(flags(image, "r"), kFieldFlagPacked);
    EXPECT_EQ(kind(image, "m"), static_cast<uint32_t>(Kind::kMessage));
    EXPECT_NE(field_named(image, "M", "i").has_bit, kNoHasBit);
    EXPECT_EQ(image.image().enum_entry(0).flags, 0u);
  }
}

TEST(Editions, PresenceCanBeImplicitOrRequired) {
  OwnedImage image = edition_2023(
      "option features.field_presence = IMPLICIT;"
      "message M { int32 none = 1; int32 bit = 2 [features.field_presence = EXPLICIT];"
      "  int32 must = 3 [features.field_presence = LEGACY_REQUIRED]; M sub = 4; oneof o { int32 in = 5; }"
      "  M must_sub = 6 [features.field_presence = LEGACY_REQUIRED]; }");
  EXPECT_EQ(flags(image, "none"), 0u);
  EXPECT_EQ(field_named(image, "M", "none").has_bit, kNoHasBit);
  EXPECT_EQ(flags(image, "bit"), kFieldFlagExplicitPresence);
  EXPECT_EQ(flags(image, "must"), kFieldFlagExplicitPresence | kFieldFlagRequired);
  EXPECT_EQ(flags(image, "must_sub"), kFieldFlagExplicitPresence | kFieldFlagRequired);
  EXPECT_EQ(flags(image, "sub"), kFieldFlagExplicitPresence);
  EXPECT_EQ(flags(image, "in"), kFieldFlagExplicitPresence | kFieldFlagOneof);
  EXPECT_EQ(message_named(image, "M").required_count, 2u);
}

TEST(Editions, AnEnumIsClosedByItsOwnFeature) {
  OwnedImage image = edition_2023(
      "enum Open { Z = 0; } enum Closed { option features.enum_type = CLOSED; FIRST = 4; }"
      "enum Zero { option features.enum_type = CLOSED; ZERO = 0; }"
      "message M { Open open = 1; Closed closed = 2; repeated Closed many = 3; map<int32, Zero> map = 4;"
      "  Open legacy = 5 [features.legacy_closed_enum = true]; }");
  EXPECT_EQ(flags(image, "open") & kFieldFlagClosedEnum, 0u);
  EXPECT_NE(flags(image, "closed") & kFieldFlagClosedEnum, 0u);
  EXPECT_NE(flags(image, "many") & kFieldFlagClosedEnum, 0u);
  EXPECT_NE(flags(image, "value", "M.MapEntry") & kFieldFlagClosedEnum, 0u);
  EXPECT_NE(flags(image, "legacy") & kFieldFlagClosedEnum, 0u);
  const Image& i = image.image();
  EXPECT_EQ(i.enum_entry(static_cast<uint32_t>(i.find_enum("Closed", 6))).flags, kEnumFlagClosed);
  EXPECT_EQ(i.enum_entry(static_cast<uint32_t>(i.find_enum("Open", 4))).flags, 0u);
  EXPECT_EQ(i.default_scalar(field_named(image, "M", "closed")), 4u);
}

TEST(Editions, EnumsKeepTheirTypeAcrossFiles) {
  FileDescriptorSet set = parse_protos(
      {{"two.proto", "syntax = 'proto2'; package two; enum E { A = 1; }"},
       {"three.proto", "syntax = 'proto3'; package three; enum E { Z = 0; }"},
       {"back.proto", "syntax = 'proto2'; package back; import 'e.proto'; message B { optional OpenE open = 1; }"}});
  *set.add_file() = editions_file("e.proto",
                                  "import 'two.proto'; import 'three.proto'; enum OpenE { ZERO = 0; }"
                                  "message M { .two.E two = 1; .three.E three = 2; }");
  OwnedImage image = image_of(set);
  EXPECT_NE(flags(image, "two") & kFieldFlagClosedEnum, 0u);
  EXPECT_EQ(flags(image, "three") & kFieldFlagClosedEnum, 0u);
  EXPECT_NE(flags(image, "open", "back.B") & kFieldFlagClosedEnum, 0u);  // proto2's fields are closed in protobuf C++
}

TEST(Editions, AProto3FileMayUseTheOpenEnumOfAnEditionsFile) {
  const char* text =
      "syntax = 'proto3'; import 'e.proto'; message P { E e = 1; optional int32 o = 2; string s = 3;"
      "oneof real { int32 a = 4; E b = 5; } optional E oe = 6; repeated int32 r = 7; repeated int32 u = 8 [packed = "
      "false]; optional string os = 9; }";
  FileDescriptorSet set = parse_protos({{"p.proto", text}});
  *set.add_file() = editions_file("e.proto", "enum E { Z = 0; }");
  OwnedImage image = image_of(set);

  // The same without the import, which libprotobuf itself reads as proto3.
  std::string alone(text);
  alone.replace(alone.find("import 'e.proto';"), 17, "enum E { Z = 0; }");
  OwnedImage plain = image_of(alone.c_str());
  const MessageEntry& ours = message_named(image, "P");
  EXPECT_EQ(ours.object_size, message_named(plain, "P").object_size);
  EXPECT_EQ(ours.oneof_count, 1u);
  for (const FieldEntry& field : image.image().fields(ours)) {
    const char* name = image.image().name(field.name);
    const FieldEntry& expected = field_named(plain, "P", name);
    EXPECT_EQ(field.flags, expected.flags) << name;
    EXPECT_EQ(field.offset, expected.offset) << name;
    EXPECT_EQ(field.has_bit, expected.has_bit) << name;
    EXPECT_EQ(field.case_offset, expected.case_offset) << name;
  }
}

TEST(Editions, DelimitedFieldsAreGroupsButMapsAreNot) {
  OwnedImage image = edition_2023(
      "option features.message_encoding = DELIMITED;"
      "message M { M one = 1; repeated M many = 2; M prefixed = 3 [features.message_encoding = LENGTH_PREFIXED];"
      "  map<int32, M> map = 4; oneof o { M in = 5; } repeated .MapEntry not_a_map = 6; }"
      "message MapEntry { M m = 1; }");
  for (const char* name : {"one", "many", "in", "not_a_map"}) {
    EXPECT_EQ(kind(image, name), static_cast<uint32_t>(Kind::kGroup)) << name;
    EXPECT_EQ(field_named(image, "M", name).wire_type, 3) << name;
  }
  EXPECT_EQ(kind(image, "prefixed"), static_cast<uint32_t>(Kind::kMessage));
  EXPECT_EQ(kind(image, "map"), static_cast<uint32_t>(Kind::kMessage));
  EXPECT_EQ(field_named(image, "M", "map").label, kLabelMap);
  EXPECT_EQ(kind(image, "value", "M.MapEntry"), static_cast<uint32_t>(Kind::kMessage));
}

TEST(Editions, PackingAndUtf8ChecksCanBeTurnedOff) {
  OwnedImage image = edition_2023(
      "message M { repeated int32 packed = 1; repeated int32 not_packed = 2 [features.repeated_field_encoding = "
      "EXPANDED]; string checked = 3; string free = 4 [features.utf8_validation = NONE]; repeated string many = 5; }");
  EXPECT_EQ(flags(image, "packed"), kFieldFlagPacked);
  EXPECT_EQ(flags(image, "not_packed"), 0u);
  EXPECT_NE(flags(image, "checked") & kFieldFlagUtf8, 0u);
  EXPECT_EQ(flags(image, "free") & kFieldFlagUtf8, 0u);
  EXPECT_EQ(flags(image, "many"), kFieldFlagUtf8);
}

TEST(Editions, FeaturesAreInheritedFromTheNearestScopeThatHasThem) {
  OwnedImage image = edition_2023(
      "option features.utf8_validation = NONE;"
      "message M { string by_file = 1; message N { option features.utf8_validation = VERIFY; string by_message = 1;"
      "  oneof o { option features.utf8_validation = NONE; string by_oneof = 2;"
      "  string by_field = 3 [features.utf8_validation = VERIFY]; }"
      "  message MDeep { string by_outer = 1; } MDeep d = 4; } N.MDeep d = 2; }");
  EXPECT_EQ(flags(image, "by_file") & kFieldFlagUtf8, 0u);
  EXPECT_NE(flags(image, "by_message", "M.N") & kFieldFlagUtf8, 0u);
  EXPECT_EQ(flags(image, "by_oneof", "M.N") & kFieldFlagUtf8, 0u);
  EXPECT_NE(flags(image, "by_field", "M.N") & kFieldFlagUtf8, 0u);
  EXPECT_NE(flags(image, "by_outer", "M.N.MDeep") & kFieldFlagUtf8, 0u);
}

TEST(Editions, SayTheSameAsTheSyntaxThatTheyReplace) {
  const char* body =
      "message M { optional string s = 1; repeated int32 r = 2; optional E e = 3; repeated E many = 4;"
      " optional M m = 5; map<string, E> map = 6; oneof o { string os = 7; E oe = 8; } } enum E { Z = 0; }";
  std::string two = std::string("syntax = 'proto2';") + body;
  std::string unlabelled(body);
  for (size_t at; (at = unlabelled.find("optional ")) != std::string::npos;) unlabelled.erase(at, 9);
  std::string edition =
      "option features.enum_type = CLOSED; option features.utf8_validation = NONE;"
      "option features.repeated_field_encoding = EXPANDED;" +
      unlabelled;
  FileDescriptorSet old = parse_protos({{"test.proto", two.c_str()}});
  EXPECT_EQ(build_image(old).image, build_image(set_of({editions_file("test.proto", edition.c_str())})).image);

  std::string three = std::string("syntax = 'proto3';") + unlabelled;
  old = parse_protos({{"test.proto", three.c_str()}});
  edition = "option features.field_presence = IMPLICIT;" + unlabelled;
  EXPECT_EQ(build_image(old).image, build_image(set_of({editions_file("test.proto", edition.c_str())})).image);
}

TEST(Editions, RefuseWhatTheyDoNotKnow) {
  auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(contains(error_of(set_of({editions_file("e.proto", "", 1002)})), "edition 1002 is not known"));
  EXPECT_TRUE(
      contains(error_of("message M { int32 i = 1 [features.field_presence = BAD]; }"), "features.field_presence"));
  EXPECT_TRUE(contains(error_of("enum E { option features.enum_type = BAD; Z = 0; }"), "features.enum_type"));
  EXPECT_TRUE(contains(error_of("option features.utf8_validation = BAD;"), "features.utf8_validation"));
  FileDescriptorProto garbled = editions_file("e.proto", "message M {}");
  garbled.mutable_message_type(0)->mutable_options()->mutable_unknown_fields()->AddLengthDelimited(12, "\x0a");
  EXPECT_TRUE(contains(error_of(set_of({garbled})), "not a FeatureSet"));
}

TEST(Editions, RefuseContradictions) {
  EXPECT_EQ(error_of("option features.field_presence = LEGACY_REQUIRED;"),
            "test.proto: a file cannot make all its fields required");
  EXPECT_EQ(error_of("enum E { ONE = 1; }"), "test.proto: E: the first value of an open enum must be zero");
  EXPECT_EQ(error_of("message M { int32 i = 1 [features.field_presence = IMPLICIT, default = 3]; }"),
            "test.proto: i: a field with implicit presence cannot have a default");
  EXPECT_EQ(error_of("enum E { option features.enum_type = CLOSED; ONE = 1; }"
                     "message M { E e = 1 [features.field_presence = IMPLICIT]; }"),
            "M.e: a field with implicit presence needs an open enum");
  FileDescriptorProto untyped = editions_file("test.proto", "message M { int32 i = 1; }");
  untyped.mutable_message_type(0)->mutable_field(0)->clear_type();
  EXPECT_EQ(error_of(set_of({untyped})), "test.proto: i: it has no type");
  FileDescriptorSet old = parse_protos({{"old.proto", "syntax = 'proto3'; message M { int32 i = 1; }"}});
  store_features(
      kProto2Features, kFieldFeatures,
      old.mutable_file(0)->mutable_message_type(0)->mutable_field(0)->mutable_options()->mutable_unknown_fields());
  EXPECT_EQ(error_of(old), "old.proto: features in a file that has no edition");
}

TEST(Editions, AnOptionImportNeedNotBeThere) {
  FileDescriptorProto file = editions_file("test.proto", "message M { int32 i = 1; }", kEdition2024);
  file.mutable_unknown_fields()->AddLengthDelimited(15, "not/there.proto");  // option_dependency
  EXPECT_EQ(message_named(image_of(set_of({file})), "M").field_count, 1u);
}

TEST(DescriptorFiles, FollowPublicAndWeakImports) {
  FileDescriptorSet set =
      parse_protos({{"c.proto", "syntax = 'proto3'; import 'b.proto'; message C { A a = 1; }"},
                    {"b.proto", "syntax = 'proto3'; import public 'a.proto'; import weak 'w.proto';"},
                    {"w.proto", "syntax = 'proto2';"}});
  *set.add_file() = editions_file("a.proto", "message A { int32 i = 1; }");
  EXPECT_EQ(message_named(image_of(set), "C").field_count, 1u);
}

TEST(DescriptorFiles, BoundWhatLibprotobufDoesNot) {
  FileDescriptorSet chain;
  for (int i = 0; i < 3000; ++i) {
    auto* file = chain.add_file();
    file->set_name(std::to_string(i));
    if (i > 0) file->add_dependency(std::to_string(i - 1));
    if (i > 0) file->add_public_dependency(0);
  }
  EXPECT_EQ(error_of(chain), "1001: imports nest deeper than 1000");

  FileDescriptorSet names;
  names.add_file()->set_package(std::string(1 << 20, 'p'));
  for (int i = 0; i < 300; ++i) names.mutable_file(0)->add_message_type()->set_name("M" + std::to_string(i));
  EXPECT_EQ(error_of(names), ": full names of more than 256 MiB");

  FileDescriptorSet many;
  many.add_file()->set_name("many.proto");
  for (int i = 0; i <= 1 << 19; ++i) many.mutable_file(0)->add_message_type();
  EXPECT_EQ(error_of(many), "many.proto: more than 524288 messages, with those before");

  FileDescriptorSet ranges;
  ranges.add_file()->set_name("ranges.proto");
  auto* ranged = ranges.mutable_file(0)->add_message_type();
  for (int i = 0; i <= 16384; ++i) ranged->add_reserved_range();
  EXPECT_EQ(error_of(ranges), "ranges.proto: a message or enum with more than 16384 ranges");
}

}  // namespace
}  // namespace drover::schema
