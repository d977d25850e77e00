// Schemas named on a command line, and the errors for missing ones.
#include "cli/schema_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cli/file_io.h"

namespace drover::cli {
namespace {

using ::testing::HasSubstr;

class SchemaSourceTest : public ::testing::Test {
 protected:
  SchemaSourceTest()
      : directory_(std::filesystem::temp_directory_path() / ("schema_source_test." + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_ / "sub");
    write("sub/imported.proto", "syntax = \"proto3\"; package imported; message Part { int32 n = 1; }");
    write("main.proto", R"(syntax = "proto3"; package pkg;
      import "sub/imported.proto"; import "google/protobuf/timestamp.proto";
      message Order { imported.Part part = 1; google.protobuf.Timestamp at = 2; message Line { string text = 1; } }
      message Other { message Line { string text = 1; } }
      service Shop { rpc Buy(Order) returns (Other); })");
  }
  ~SchemaSourceTest() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) { write_file((directory_ / name).string(), text); }
  std::string path(const std::string& name) { return (directory_ / name).string(); }

  std::string load(std::vector<std::string> arguments) {
    CLI::App app;
    source_.add_options(&app);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    return source_.load();
  }

  std::filesystem::path directory_;
  SchemaSource source_;
};

TEST_F(SchemaSourceTest, AProtoFileBringsItsImportsAndTheWellKnownTypes) {
  ASSERT_EQ(load({"--proto", path("main.proto")}), "");
  schema::MessageType type;
  EXPECT_EQ(source_.find_message("pkg.Order", &type), "");
  EXPECT_STREQ(type.full_name(), "pkg.Order");
  EXPECT_EQ(source_.find_message("Timestamp", &type), "");
  EXPECT_EQ(source_.files().file_size(), 3);
}

TEST_F(SchemaSourceTest, AProtoFileIsFoundInAnImportDirectory) {
  EXPECT_EQ(load({"-I", directory_.string(), "--proto", "main.proto"}), "");
  SchemaSource again;
  EXPECT_EQ(again.load(source_.files()), "");
}

TEST_F(SchemaSourceTest, ADescriptorSetMayHaveItsFilesInAnyOrder) {
  ASSERT_EQ(load({"--proto", path("main.proto")}), "");
  google::protobuf::FileDescriptorSet reversed;
  for (int i = source_.files().file_size(); i > 0; --i) *reversed.add_file() = source_.files().file(i - 1);
  write("set.fds", reversed.SerializeAsString());
  SchemaSource again;
  CLI::App app;
  again.add_options(&app);
  app.parse("--descriptor-set " + path("set.fds"));
  EXPECT_EQ(again.load(), "");
  reversed.mutable_file()->DeleteSubrange(1, 2);
  EXPECT_THAT(again.load(reversed), HasSubstr("imported, but not in the FileDescriptorSet"));
}

TEST_F(SchemaSourceTest, ErrorsNameThePlaceAndWhatToDo) {
  EXPECT_THAT(load({}), HasSubstr("give --proto FILE"));
  SchemaSource missing;
  CLI::App app;
  missing.add_options(&app);
  app.parse("--proto /nowhere/x.proto");
  EXPECT_THAT(missing.load(), HasSubstr("/nowhere/x.proto: File not found"));
  write("bad.proto", "syntax = \"proto3\";\nmessage M { Missing m = 1; }");
  SchemaSource bad;
  CLI::App bad_app;
  bad.add_options(&bad_app);
  bad_app.parse("--proto " + path("bad.proto"));
  EXPECT_THAT(bad.load(), HasSubstr("bad.proto:2:13: \"Missing\" is not defined."));
}

TEST_F(SchemaSourceTest, AMessageIsFoundByItsLastPartsIfThatIsUnique) {
  ASSERT_EQ(load({"--proto", path("main.proto")}), "");
  schema::MessageType type;
  EXPECT_EQ(source_.find_message("Order.Line", &type), "");
  EXPECT_STREQ(type.full_name(), "pkg.Order.Line");
  EXPECT_THAT(source_.find_message("Line", &type), HasSubstr("could be"));
  EXPECT_THAT(source_.find_message("Ordre", &type), HasSubstr("no message Ordre; there is pkg.Order"));
}

TEST_F(SchemaSourceTest, AMethodIsFoundInAllItsSpellings) {
  ASSERT_EQ(load({"--proto", path("main.proto")}), "");
  const google::protobuf::MethodDescriptor* method = nullptr;
  for (const char* name : {"pkg.Shop/Buy", "/pkg.Shop/Buy", "pkg.Shop.Buy", "Shop/Buy", "Buy"}) {
    EXPECT_EQ(source_.find_method(name, &method), "") << name;
    ASSERT_NE(method, nullptr);
  }
  EXPECT_THAT(source_.find_method("pkg.Shop/Sell", &method), HasSubstr("there is pkg.Shop/Buy"));
}

TEST(NearestNames, TheNearestComeFirstShortAndPrintable) {
  EXPECT_EQ(nearest_names("b", {"xxxx", "pkg.bb", "b", "c"}, 3), "b, c, pkg.bb and 1 more");
  EXPECT_EQ(nearest_names("a", {}, 8), "");
  EXPECT_EQ(nearest_names("a", {"a\x1b[2J\n"}, 8), "a\\x1b[2J\\x0a");
  EXPECT_EQ(nearest_names(std::string(100'000, 'a'), {std::string(100'000, 'b')}, 8), std::string(200, 'b'));
}

}  // namespace
}  // namespace drover::cli
