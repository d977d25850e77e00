#include "engine/binary_log/log_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "binlog/log_reader.h"

namespace drover::engine::binary_log {
namespace {

namespace fs = std::filesystem;

class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() {
    std::string place = testing::TempDir() + "/drover_binlog_XXXXXX";
    directory_ = ::mkdtemp(place.data());
    path_ = directory_ + "/calls.binlog";
  }
  ~LogWriterTest() override { fs::remove_all(directory_); }

  static std::vector<std::string> entries(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    binlog::LogReader reader([&](char* to, size_t size) {
      file.read(to, static_cast<std::streamsize>(size));
      return static_cast<long>(file.gcount());
    });
    std::vector<std::string> found;
    for (std::string_view entry; reader.next(&entry);) found.emplace_back(entry);
    EXPECT_EQ(reader.message(), "") << path;
    return found;
  }
  static bool push(EntryRing& ring, std::string_view text) {
    const Piece piece{text.data(), text.size()};
    return ring.push({&piece, 1});
  }
  uint64_t counted(const std::string& name, const std::string& why = "") {
    uint64_t value = 0;
    metrics_.visit([](const MethodMetrics&) {},
                   [&](const ThreadMetrics::Series& series) {
                     if (series.name != name || series.counter == nullptr) return;
                     if (why.empty() || series.labels[0].second == why) value = series.counter->value();
                   });
    return value;
  }

  std::string directory_, path_;
  ThreadMetrics metrics_{0};
};

TEST_F(LogWriterTest, WritesWhatIsLeftAtItsEndInTheOrderOfEachRing) {
  LogWriter writer(path_, {1 << 20, 1, true}, metrics_);
  EntryRing& first = writer.add_ring(1 << 16);
  EntryRing& second = writer.add_ring(1 << 16);
  writer.start();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(push(first, "a" + std::to_string(i)));
    ASSERT_TRUE(push(second, "b" + std::to_string(i)));
  }
  writer.stop();
  std::map<char, int> next;
  for (const std::string& entry : entries(path_)) EXPECT_EQ(entry.substr(1), std::to_string(next[entry[0]]++));
  EXPECT_EQ(next['a'], 1000);
  EXPECT_EQ(next['b'], 1000);
  EXPECT_EQ(counted("drover_binary_log_bytes_total"), fs::file_size(path_));
}

TEST_F(LogWriterTest, EachFileBeginsWhereAnEntryBegins) {
  constexpr int kEntries = 300;
  LogWriter writer(path_, {1 << 20, 20, true}, metrics_);
  EntryRing& ring = writer.add_ring(64 << 20);
  for (int i = 0; i < kEntries; ++i) ASSERT_TRUE(push(ring, std::to_string(i) + std::string(20'000, 'x')));
  writer.start();
  writer.stop();
  std::vector<std::string> all, files;
  for (const auto& file : fs::directory_iterator(directory_)) files.push_back(file.path());
  EXPECT_GE(files.size(), 6u);
  for (int number = static_cast<int>(files.size()) - 1; number >= 0; --number) {
    const std::string path = number == 0 ? path_ : path_ + "." + std::to_string(number);
    EXPECT_LE(fs::file_size(path), 1u << 20);
    for (std::string& entry : entries(path)) all.push_back(std::move(entry));
  }
  ASSERT_EQ(all.size(), static_cast<size_t>(kEntries));
  for (int i = 0; i < kEntries; ++i)
    EXPECT_EQ(all[static_cast<size_t>(i)].substr(0, 3), (std::to_string(i) + "xx").substr(0, 3));
}

TEST_F(LogWriterTest, WhatCannotBeWrittenIsCounted) {
  LogWriter writer("/nowhere/log", {1 << 20, 1, true}, metrics_);
  EntryRing& ring = writer.add_ring(1 << 16);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(push(ring, "entry"));
  writer.start();
  writer.stop();
  EXPECT_EQ(counted("drover_binary_log_dropped_total", "file"), 10u);
}

TEST_F(LogWriterTest, AFileThatEndsWithAWholeEntryIsGoneOnWith) {
  EXPECT_FALSE(can_go_on(path_)) << "no file";
  for (const char* text : {"first", "second"}) {
    LogWriter writer(path_, {1 << 20, 1, !can_go_on(path_)}, metrics_);
    ASSERT_TRUE(push(writer.add_ring(1 << 16), text));
    writer.start();
  }
  EXPECT_EQ(entries(path_), (std::vector<std::string>{"first", "second"}));
  EXPECT_FALSE(fs::exists(path_ + ".1"));
  const uint64_t size = fs::file_size(path_);
  EXPECT_TRUE(can_go_on(path_));
  fs::resize_file(path_, size - 1);
  EXPECT_FALSE(can_go_on(path_)) << "it ends inside an entry";
  fs::resize_file(path_, 0);
  EXPECT_TRUE(can_go_on(path_));
}

TEST_F(LogWriterTest, AFileThatIsNoLogOfTheEngineIsNotGoneOnWith) {
  using namespace std::string_literals;
  for (const std::string& text : {"\0\0\0\1x"s /* of grpc-go */, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
    EXPECT_FALSE(can_go_on(path_));
  }
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_FALSE(can_go_on(path_));
  fs::remove(path_);
  std::ofstream(path_) << "";
  fs::resize_file(path_, kMostReadBytes + 1);
  EXPECT_FALSE(can_go_on(path_));
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(can_go_on(path_));
}

TEST_F(LogWriterTest, AFileThatStartsAnewIsMovedAway) {
  for (const char* text : {"first", "second"}) {
    LogWriter writer(path_, {1 << 20, 1, true}, metrics_);
    ASSERT_TRUE(push(writer.add_ring(1 << 16), text));
    writer.start();
  }
  EXPECT_EQ(entries(path_), std::vector<std::string>{"second"});
  EXPECT_EQ(entries(path_ + ".1"), std::vector<std::string>{"first"});
}

}  // namespace
}  // namespace drover::engine::binary_log
