// Classes that were generated from an edition 2023 file: what each feature does to accessors and wire bytes.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "compiler/generator.h"
#include "compiler/plugin.h"
#include "edition2024.pb.h"
#include "editions.pb.h"
#include "editions_user.pb.h"
#include "schema/image_load.h"

namespace drover {
namespace {

namespace ed = ::drover_test::editions;
using drover_test::editions_user::User;

// Literals with NULs in them.
template <size_t N>
std::string bytes(const char (&text)[N]) {
  return std::string(text, N - 1);
}

template <typename T>
concept HasImplicitPresence = !requires(T t) { t.has_implicit(); } && !requires(T t) { t.has_implicit_text(); };

TEST(GeneratedEditions, EmbeddedImagesPassTheLoader) {
  for (const schema::Image* image : {ed::Presence::drover_type().image, User::drover_type().image}) {
    schema::OwnedImage copy;
    std::string_view stored(reinterpret_cast<const char*>(image->data()), image->size());
    schema::LoadResult result = schema::OwnedImage::load(stored, &copy);
    EXPECT_TRUE(result.ok()) << schema::load_message(result);
  }
}

TEST(GeneratedEditions, PresenceIsExplicitUnlessImplicit) {
  static_assert(HasImplicitPresence<ed::Presence>);
  ed::Presence m;
  EXPECT_FALSE(m.has_by_default());
  EXPECT_FALSE(m.has_open());
  EXPECT_EQ(m.text(), "unset");
  m.set_by_default(0);
  m.set_implicit(0);
  m.set_open(ed::NONE);
  m.set_implicit_open(ed::NONE);
  m.set_text("");
  EXPECT_TRUE(m.has_by_default());
  EXPECT_EQ(m.SerializePartialAsString(), bytes("\x08\x00\x12\x00\x30\x00"));
  m.set_implicit(1);
  EXPECT_EQ(m.SerializePartialAsString(), bytes("\x08\x00\x12\x00\x18\x01\x30\x00"));
}

TEST(GeneratedEditions, LegacyRequiredFieldsAreRequired) {
  ed::Presence m;
  EXPECT_FALSE(m.IsInitialized());
  EXPECT_EQ(m.InitializationErrorString(), "needed");
  EXPECT_FALSE(m.ParseFromString(""));
  EXPECT_TRUE(m.ParseFromString("\x28\x07"));
  EXPECT_EQ(m.needed(), 7);
  m.mutable_sub();
  EXPECT_EQ(m.InitializationErrorString(), "sub.needed");
}

TEST(GeneratedEditions, OpenEnumsHoldEveryNumberAndClosedOnesTheirs) {
  ed::Enums m;
  EXPECT_EQ(m.closed(), ed::FIRST);
  EXPECT_EQ(m.open(), ed::NONE);
  ASSERT_TRUE(m.ParseFromString("\x08\x63\x10\x63\x18\x63\x20\x63\x20\x05\x28\x63\x30\x63"));
  EXPECT_EQ(static_cast<int>(m.open()), 99);
  EXPECT_FALSE(m.has_closed());
  EXPECT_EQ(static_cast<int>(m.opens(0)), 99);
  ASSERT_EQ(m.closeds_size(), 1);
  EXPECT_EQ(m.closeds(0), ed::SECOND);
  EXPECT_EQ(static_cast<int>(m.proto3()), 99);
  EXPECT_FALSE(m.has_proto2());
  EXPECT_EQ(m.unknown_fields(), "\x10\x63\x20\x63\x30\x63");
  EXPECT_TRUE(ed::Closed_IsValid(5));
  EXPECT_FALSE(ed::Closed_IsValid(0));
}

TEST(GeneratedEditions, PackedExpandedAndUncheckedStringsAreEncodedSo) {
  ed::Encodings m;
  m.add_packed(1);
  m.add_packed(2);
  m.add_expanded(1);
  m.add_expanded(2);
  EXPECT_EQ(m.SerializeAsString(), "\x0a\x02\x01\x02\x10\x01\x10\x02");
  EXPECT_FALSE(m.ParseFromString("\x1a\x01\xff"));
  EXPECT_TRUE(m.ParseFromString("\x22\x01\xff"));
  EXPECT_EQ(m.unchecked(), "\xff");
  EXPECT_FALSE(m.ParseFromString("\x2a\x03\x0a\x01\xff"));  // a map's key
}

TEST(GeneratedEditions, DelimitedFieldsAreGroupsOnTheWire) {
  ed::Delimited m;
  m.mutable_grouplike()->set_x(1);
  m.mutable_other_name()->set_x(2);
  m.add_many()->set_x(3);
  m.mutable_in_oneof()->set_x(4);
  (*m.mutable_map())[6].set_x(5);
  m.mutable_prefixed()->set_x(6);
  std::string expected = bytes(
      "\x0b\x08\x01\x0c\x13\x08\x02\x14\x1b\x08\x03\x1c\x23\x08\x04\x24"
      "\x32\x06\x08\x06\x12\x02\x08\x05\x3a\x02\x08\x06");
  EXPECT_EQ(m.SerializeAsString(), expected);
  ed::Delimited copy;
  ASSERT_TRUE(copy.ParseFromString(expected));
  EXPECT_TRUE(copy.MessageEquals(m));
  EXPECT_EQ(copy.one_case(), ed::Delimited::kInOneof);
  m.set_number(9);
  EXPECT_FALSE(m.has_in_oneof());
}

TEST(GeneratedEditions, TextNamesAGroupByItsTypeOnlyIfTheFieldIsNamedAfterIt) {
  ed::Delimited m;
  m.mutable_grouplike()->set_x(1);
  m.mutable_other_name()->set_x(2);
  EXPECT_EQ(m.ShortDebugString(), "GroupLike { x: 1 } other_name { x: 2 }");
}

TEST(GeneratedEditions, AProto3FileMayUseThem) {
  User m;
  EXPECT_FALSE(m.has_optional_open());
  m.set_implicit(0);
  m.set_optional_open(ed::NONE);
  m.set_open(static_cast<ed::Open>(7));
  m.mutable_delimited()->mutable_grouplike();
  m.add_opens(ed::SOME);
  m.set_text("t");
  std::string expected = bytes("\x08\x07\x10\x00\x22\x02\x0b\x0c\x2a\x01\x74\x3a\x01\x01");
  EXPECT_EQ(m.SerializeAsString(), expected);
  EXPECT_EQ(m.one_case(), User::kText);
  EXPECT_FALSE(m.ParseFromString("\x2a\x01\xff"));
}

TEST(GeneratedEditions, Edition2024IsGeneratedToo) {
  drover_test::edition2024::Shown m;
  m.set_count(0);
  m.mutable_hidden()->add_words("w");
  EXPECT_EQ(m.SerializeAsString(), bytes("\x08\x00\x12\x03\x0a\x01w"));
}

// ---- the plugin's protocol
google::protobuf::compiler::CodeGeneratorResponse answer_to(
    const google::protobuf::compiler::CodeGeneratorRequest& request) {
  return compiler::answer(request);
}

TEST(Plugin, AnnouncesEditions2023And2024) {
  auto response = answer_to({});
  EXPECT_EQ(response.supported_features(), 3u);  // proto3 optional, editions
  const auto& unknown = response.unknown_fields();
  ASSERT_EQ(unknown.field_count(), 2);
  EXPECT_EQ(unknown.field(0).number(), 3);
  EXPECT_EQ(unknown.field(0).varint(), 1000u);
  EXPECT_EQ(unknown.field(1).number(), 4);
  EXPECT_EQ(unknown.field(1).varint(), 1001u);
}

TEST(Plugin, AnswersABadRequestWithAnErrorAndNoFiles) {
  google::protobuf::compiler::CodeGeneratorRequest request;
  request.add_file_to_generate("a.proto");
  EXPECT_EQ(answer_to(request).error(), "a.proto: protoc wants code for it but does not say what is in it");
  auto* file = request.add_proto_file();
  file->set_name("a.proto");
  file->set_syntax("editions");
  auto response = answer_to(request);
  EXPECT_NE(response.error().find("a.proto: edition 0 is not known"), std::string::npos) << response.error();
  EXPECT_EQ(response.file_size(), 0);
}

TEST(Plugin, GeneratesTheFiveFilesOfEachFile) {
  google::protobuf::compiler::CodeGeneratorRequest request;
  auto* file = request.add_proto_file();
  file->set_name("dir/a.proto");
  file->add_message_type()->set_name("M");
  request.add_file_to_generate("dir/a.proto");
  auto response = answer_to(request);
  EXPECT_EQ(response.error(), "");
  ASSERT_EQ(response.file_size(), 5);
  EXPECT_EQ(response.file(0).name(), "dir/a.pb.h");
  EXPECT_NE(response.file(0).content().find("class M final"), std::string::npos);
  EXPECT_EQ(response.file(4).name(), "dir/a.lines.pb.h");
}

}  // namespace
}  // namespace drover
