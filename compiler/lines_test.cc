// Layouts of fixed shape, as documented (docs/lines.md), and what the generator says of options that cannot be.
#include <gmock/gmock.h>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "compiler/generator.h"
#include "compiler/lines_layout.h"
#include "schema/descriptor_model.h"

namespace drover::compiler {
namespace {

using ::testing::HasSubstr;
namespace pb = google::protobuf;

// Files in memory, beside drover/options.proto.
class Sources final : public pb::compiler::SourceTree, public pb::compiler::MultiFileErrorCollector {
 public:
  Sources() {
    disk_.MapPath("", DROVER_PROTO_DIR);
    disk_.MapPath("", DROVER_WKT_DIR);
  }
  pb::io::ZeroCopyInputStream* Open(const std::string& name) override {
    auto file = files.find(name);
    if (file == files.end()) return disk_.Open(name);
    return new pb::io::ArrayInputStream(file->second.data(), static_cast<int>(file->second.size()));
  }
  void AddError(const std::string& name, int line, int, const std::string& message) override {
    ADD_FAILURE() << name << ":" << line << ": " << message;
  }
  std::map<std::string, std::string> files;

 private:
  pb::compiler::DiskSourceTree disk_;
};

class Files final : public pb::compiler::GeneratorContext {
 public:
  pb::io::ZeroCopyOutputStream* Open(const std::string& name) override {
    return new pb::io::StringOutputStream(&files[name]);
  }
  std::map<std::string, std::string> files;
};

class LinesGenerator : public ::testing::Test {
 protected:
  const pb::FileDescriptor* file(const std::string& body, const std::string& syntax = "proto3") {
    sources_.files["a.proto"] = "syntax = \"" + syntax + "\";\npackage p;\nimport \"drover/options.proto\";\n" + body;
    const pb::FileDescriptor* found = importer_.Import("a.proto");
    EXPECT_NE(found, nullptr);
    return found;
  }
  // The layout's text of message M; empty: no fixed shape.
  std::string layout(const std::string& body, const std::string& syntax = "proto3") {
    const pb::FileDescriptor* found = file(body, syntax);
    schema::Schema schema;
    EXPECT_EQ(schema::schema_from_files(schema::FileSpan(&found, 1), &schema), "");
    FixedLayouts layouts(&schema, {});
    const FixedLayout* fixed = layouts.find(found->FindMessageTypeByName("M"));
    return fixed == nullptr ? "" : fixed->text;
  }
  // foo.lines.pb.h, or the generator's error.
  std::string generated(const std::string& body, const std::string& parameter = "") {
    Files out;
    std::string error;
    if (!Generator().Generate(file(body), parameter, &out, &error)) return "error: " + error;
    return out.files["a.lines.pb.h"];
  }

  Sources sources_;
  pb::compiler::Importer importer_{&sources_, &sources_};
};

TEST_F(LinesGenerator, MembersLieByAlignmentThenByNumber) {
  EXPECT_EQ(layout("message M { bool a = 9; int32 b = 3; double c = 7; uint64 d = 2; fixed32 e = 1; }"),
            "{2:uint64@0 7:double@8 1:uint32@16 3:int32@20 9:bool@24 size 32}");
}
TEST_F(LinesGenerator, StringsHaveASizeOfOneByteOrTwo) {
  EXPECT_EQ(layout("message M { string a = 1 [(drover.max_bytes) = 255]; bytes b = 2 [(drover.max_bytes) = 257]; }"),
            "{2:bytes[257]@0 1:utf8[255]@260 size 516}");
}
TEST_F(LinesGenerator, PresenceIsABitByFieldNumber) {
  EXPECT_EQ(layout("message In { bool x = 1; } message M { optional int32 z = 4; In in = 2; int64 y = 1; }"),
            "{1:int64@0 4:int32@8?1 2:{1:bool@0 size 1}@12?0 size 16}");
}
TEST_F(LinesGenerator, AnEmptyMessageHasOneByte) { EXPECT_EQ(layout("message M {}"), "{size 1}"); }
TEST_F(LinesGenerator, AnEnumsValuesAreAPartOfTheLayout) {
  EXPECT_EQ(layout("enum E { A = 0; C = 7; B = 3; } message M { E e = 1; }"), "{1:enum(0 3 7)@0 size 4}");
}
TEST_F(LinesGenerator, TheHashIsFnv1a) {
  EXPECT_EQ(layout_hash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(layout_hash("a"), 0xaf63dc4c8601ec8cu);
}

// Each needs an importer of its own: it keeps files.
struct NoShape : LinesGenerator, ::testing::WithParamInterface<const char*> {};
TEST_P(NoShape, HasNoLayout) { EXPECT_EQ(layout(GetParam()), ""); }
INSTANTIATE_TEST_SUITE_P(Bodies, NoShape,
                         ::testing::Values("message M { string s = 1; }", "message M { repeated int32 r = 1; }",
                                           "message M { map<int32, int32> m = 1; }",
                                           "message M { oneof o { int32 a = 1; int32 b = 2; } }",
                                           "message M { M m = 1; }", "message M { N n = 1; } message N { M m = 1; }",
                                           "message M { bytes b = 1 [(drover.max_bytes) = 960]; }",
                                           "message M { option (drover.line_form) = LINE_FORM_CODEC; int32 a = 1; }",
                                           "message N { string s = 1; } message M { N n = 1; }"));

TEST_F(LinesGenerator, RequiredFieldsAndExtensionRangesHaveNoFixedShape) {
  EXPECT_EQ(layout("message M { required int32 a = 1; }", "proto2"), "");
}
TEST_F(LinesGenerator, OptionalFieldsOfProto2HavePresence) {
  EXPECT_EQ(layout("message M { optional int32 a = 1 [default = 7]; }", "proto2"), "{1:int32@0?0 size 8}");
}

TEST_F(LinesGenerator, AMessageThatMustBeFixedAndCannotBeIsAnError) {
  EXPECT_EQ(generated("message M { option (drover.line_form) = LINE_FORM_FIXED; string s = 1; }"),
            "error: p.M: LINE_FORM_FIXED, but p.M.s has no max_bytes");
}
TEST_F(LinesGenerator, AMaximumOfWhatIsNoStringIsAnError) {
  EXPECT_EQ(generated("message M { int32 a = 1 [(drover.max_bytes) = 3]; }"),
            "error: p.M.a: max_bytes is for a single string or bytes");
}
TEST_F(LinesGenerator, AMaximumThatNoMessageHoldsIsAnError) {
  EXPECT_EQ(generated("message M { bytes a = 1 [(drover.max_bytes) = 0]; }"), "error: p.M.a: max_bytes is 1 to 12288");
}
TEST_F(LinesGenerator, TwoClassesOfOneNameAreAnError) {
  EXPECT_THAT(generated("message M { int32 a = 1; } message MFixed { int32 a = 1; }"), HasSubstr("error: MFixed"));
}
TEST_F(LinesGenerator, AServiceWithoutTheOptionHasNoClient) {
  const std::string body = "message M { int32 a = 1; } service S { rpc F(M) returns (M); }";
  EXPECT_THAT(generated(body), ::testing::Not(HasSubstr("class SLines")));
  EXPECT_THAT(generated(body, "lines"), HasSubstr("class SLines"));
}
TEST_F(LinesGenerator, AMethodThatWouldHideAClientsFunctionGetsAnotherName) {
  EXPECT_THAT(generated("message M { int32 a = 1; } service S { rpc poll(M) returns (M); }", "lines"),
              HasSubstr("Status poll_(const ::p::MFixed& request"));
}

}  // namespace
}  // namespace drover::compiler
