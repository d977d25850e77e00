// The loader of HyperProtoBench, on a small directory of the same form made here, and on the published one if
// HYPERPROTOBENCH names it.
#include "workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "workload/cut_strings.h"
#include "workload/statistics.h"

namespace drover::workload {
namespace {

using ::testing::HasSubstr;

std::string record(const std::string& bytes) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(bytes.size() >> (8 * i));
  return out + bytes;
}

// A directory with four benches of one message type, M1 { optional int32 a = 1; }.
class Directory {
 public:
  Directory() : path_(std::filesystem::temp_directory_path() / ("workload_test." + std::to_string(getpid()))) {
    google::protobuf::FileDescriptorSet set;
    auto* file = set.add_file();
    file->set_name("benchmark.proto");
    file->set_package("hyperprotobench");
    auto* message = file->add_message_type();
    message->set_name("M1");
    auto* field = message->add_field();
    field->set_name("a");
    field->set_number(1);
    field->set_type(google::protobuf::FieldDescriptorProto::TYPE_INT32);
    field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
    for (const char* name : {"bench0", "bench1", "bench3", "bench4"}) {
      std::filesystem::create_directories(path_ / name);
      std::ofstream(path_ / name / "schema.fds", std::ios::binary) << set.SerializeAsString();
      write(name, record("M1") + record("\x08\x05"));
    }
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  void write(const std::string& bench, const std::string& records) {
    std::ofstream(path_ / bench / "messages.bin", std::ios::binary) << records;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(LoadHyperProtoBench, YieldsEveryRecordWithItsType) {
  Directory directory;
  WorkloadResult result = load_hyperprotobench(directory.path());
  ASSERT_TRUE(result.ok()) << result.error;
  Workload moved = std::move(result.workload);
  ASSERT_EQ(moved.messages.size(), 4u);
  const WorkloadMessage* message = moved.find("bench3.M1");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->full_name(), "hyperprotobench.M1");
  EXPECT_EQ(message->wire, "\x08\x05");
  EXPECT_EQ(moved.groups[message->group].name, "bench3");
  EXPECT_EQ(moved.find("bench3.M2"), nullptr);
}

TEST(LoadHyperProtoBench, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(load_hyperprotobench("/nowhere").error, HasSubstr("/nowhere/bench0: schema.fds is missing"));
  Directory directory;
  directory.write("bench1", record("M1") + record("\x08\x05").substr(0, 5));
  EXPECT_THAT(load_hyperprotobench(directory.path()).error, HasSubstr("bench1: messages.bin is cut short"));
  directory.write("bench1", record("M1") + record("\x08"));
  EXPECT_THAT(load_hyperprotobench(directory.path()).error, HasSubstr("bench1.M1: truncated"));
  directory.write("bench1", record("M7") + record(""));
  EXPECT_THAT(load_hyperprotobench(directory.path()).error, HasSubstr("has a message M7"));
}

TEST(LoadHyperProtoBench, ReadsThePublishedOneWhereItIs) {
  const char* directory = std::getenv("HYPERPROTOBENCH");
  if (directory == nullptr || *directory == '\0') GTEST_SKIP() << "HYPERPROTOBENCH names no directory";
  WorkloadResult result = load_hyperprotobench(directory);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.workload.messages.size(), 40u);
  ASSERT_NE(result.workload.find("bench3.M3"), nullptr);
  EXPECT_EQ(result.workload.find("bench3.M3")->wire.size(), 845u);
  EXPECT_EQ(load_hyperprotobench(directory, WorkloadPart::kAll).workload.messages.size(), 60u);
}

TEST(CutStrings, LeavesEveryFieldAndNoLongString) {
  WorkloadResult result = hyperproto_like();
  ASSERT_TRUE(result.ok()) << result.error;
  for (const WorkloadMessage& message : result.workload.messages) {
    std::string wire = cut_strings(message.type, message.wire, 64);
    Statistics before, after;
    ASSERT_TRUE(add_message(message.type, message.wire, &before));
    ASSERT_TRUE(add_message(message.type, wire, &after)) << message.name;
    EXPECT_EQ(before.values, after.values) << message.name;
    EXPECT_EQ(before.string_sizes.size(), after.string_sizes.size());
    for (uint64_t size : after.string_sizes) EXPECT_LE(size, 64u);
    for (uint64_t size : after.bytes_sizes) EXPECT_LE(size, 64u);
    EXPECT_EQ(cut_strings(message.type, message.wire, SIZE_MAX), message.wire);
  }
}

}  // namespace
}  // namespace drover::workload
