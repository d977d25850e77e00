#include "binlog/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "binlog/entry_format.h"

namespace drover::binlog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  std::vector<std::string> entries;
  ReadError error;
  std::string message;
  uint64_t offset;
};

// The file's bytes come `step` at a time.
Read read(std::string_view file, size_t step = SIZE_MAX) {
  LogReader reader([&](char* to, size_t size) {
    const size_t n = file.copy(to, std::min(size, step));
    file.remove_prefix(n);
    return static_cast<long>(n);
  });
  Read out;
  for (std::string_view entry; reader.next(&entry);) out.entries.emplace_back(entry);
  out.error = reader.error();
  out.message = reader.message();
  out.offset = reader.offset();
  return out;
}

std::string delimited(const std::vector<std::string>& entries) {
  std::string out;
  for (const std::string& entry : entries) {
    append_varint(entry.size(), &out);
    out += entry;
  }
  return out;
}

std::string big_endian(const std::vector<std::string>& entries) {
  std::string out;
  for (const std::string& entry : entries) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(entry.size() >> shift));
    out += entry;
  }
  return out;
}

const std::vector<std::string> kEntries = {"a", std::string(127, 'b'), std::string(128, 'c'), std::string(200'000, 'd'),
                                           "e"};

TEST(LogReader, TakesADelimitedFileApart) {
  for (size_t step : {size_t{1}, size_t{1000}, SIZE_MAX}) {
    const Read found = read(delimited(kEntries), step);
    EXPECT_EQ(found.entries, kEntries);
    EXPECT_EQ(found.error, ReadError::kOk);
  }
}

TEST(LogReader, TakesAFileOfGrpcGoApart) {
  for (size_t step : {size_t{1}, size_t{1000}, SIZE_MAX}) {
    const Read found = read(big_endian(kEntries), step);
    EXPECT_EQ(found.entries, kEntries);
    EXPECT_EQ(found.error, ReadError::kOk);
  }
}

TEST(LogReader, AnEmptyFileHasNoEntries) {
  EXPECT_THAT(read("").entries, IsEmpty());
  EXPECT_EQ(read("").error, ReadError::kOk);
}

TEST(LogReader, AFileThatIsCutAnywhereHasTheEntriesBefore) {
  const std::vector<std::string> entries = {"first", std::string(300, 'x')};
  for (const std::string& file : {delimited(entries), big_endian(entries)}) {
    const size_t second = file.size() - 300 - (file[0] == 0 ? 4 : 2);
    for (size_t size = second + 1; size < file.size(); ++size) {
      const Read found = read(file.substr(0, size));
      EXPECT_THAT(found.entries, ElementsAre("first"));
      EXPECT_EQ(found.error, ReadError::kTruncated);
      EXPECT_EQ(found.offset, second);
      EXPECT_EQ(found.message, "truncated: it ends inside the entry at byte " + std::to_string(second));
    }
  }
}

TEST(LogReader, WhatIsNoLengthIsAnError) {
  const Read endless = read(delimited({"first"}) + std::string(11, '\xff'));
  EXPECT_THAT(endless.entries, ElementsAre("first"));
  EXPECT_EQ(endless.error, ReadError::kBadLength);
  EXPECT_THAT(endless.message, HasSubstr("at byte 6"));
  EXPECT_EQ(read(delimited({"first", "", "x"})).error, ReadError::kBadLength);
  EXPECT_EQ(read(std::string(8, '\0')).error, ReadError::kBadLength);
}

TEST(LogReader, ALengthTakesNoMemory) {
  std::string file;
  append_varint((uint64_t{1} << 31) - 1, &file);
  EXPECT_EQ(read(file + "x").error, ReadError::kTruncated);
  file.clear();
  append_varint(uint64_t{1} << 31, &file);
  const Read large = read(file + "x");
  EXPECT_EQ(large.error, ReadError::kEntryTooLarge);
  EXPECT_THAT(large.message, HasSubstr("an entry of 2147483648 bytes at byte 0"));
  file.clear();
  append_varint(UINT64_MAX, &file);
  EXPECT_EQ(read(file).error, ReadError::kEntryTooLarge);
}

TEST(LogReader, SaysWhyAFileCannotBeRead) {
  LogReader reader([](char*, size_t) { return static_cast<long>(-EISDIR); });
  std::string_view entry;
  EXPECT_FALSE(reader.next(&entry));
  EXPECT_EQ(reader.error(), ReadError::kCannotRead);
  EXPECT_EQ(reader.message(), "cannot_read: Is a directory");
  EXPECT_FALSE(reader.next(&entry));
}

TEST(LogReader, PaddedLengthsAreRead) {
  const Read found = read(std::string("\x81\x80\x00x\x01y\x05", 7));
  EXPECT_THAT(found.entries, ElementsAre("x", "y"));
  EXPECT_EQ(found.offset, 6u);
}

}  // namespace
}  // namespace drover::binlog
