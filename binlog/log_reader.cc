#include "binlog/log_reader.h"

#include <algorithm>
#include <cstring>

namespace drover::binlog {
namespace {

constexpr size_t kMostVarint = 10;
constexpr size_t kBigEndian = 4;

}  // namespace

const char* error_name(ReadError error) {
  switch (error) {
    case ReadError::kOk:
      return "ok";
    case ReadError::kTruncated:
      return "truncated";
    case ReadError::kBadLength:
      return "bad_length";
    case ReadError::kEntryTooLarge:
      return "entry_too_large";
    case ReadError::kCannotRead:
      return "cannot_read";
  }
  return "unknown";
}

std::string LogReader::message() const {
  const std::string where = " at byte " + std::to_string(offset_);
  switch (error_) {
    case ReadError::kOk:
      return "";
    case ReadError::kTruncated:
      return "truncated: it ends inside the entry" + where;
    case ReadError::kBadLength:
      return "bad_length: no entry begins" + where + "; expected the length of one";
    case ReadError::kEntryTooLarge:
      return "entry_too_large: an entry of " + std::to_string(size_) + " bytes" + where + "; expected at most " +
             std::to_string(kMostEntry - 1);
    case ReadError::kCannotRead:
      return std::string("cannot_read: ") + std::strerror(system_error_);
  }
  return "";
}

// Whether so many bytes are there, behind those that are taken.
bool LogReader::have(size_t size) {
  if (buffer_.size() - at_ >= size) return true;
  buffer_.erase(0, at_);
  at_ = 0;
  while (buffer_.size() < size && !ended_) {
    const size_t before = buffer_.size();
    buffer_.resize(before + std::max(kPiece, std::min(size - before, before)));  // doubles at the most
    const long got = source_(buffer_.data() + before, buffer_.size() - before);
    buffer_.resize(before + static_cast<size_t>(std::max(got, 0L)));
    if (got < 0) {
      system_error_ = static_cast<int>(-got);
      return fail(ReadError::kCannotRead);
    }
    ended_ = got == 0;
  }
  return buffer_.size() >= size;
}

bool LogReader::read_length(uint64_t* size) {
  if (big_endian_) {
    if (!have(kBigEndian)) return error_ == ReadError::kOk && fail(ReadError::kTruncated);
    *size = 0;
    for (size_t i = 0; i < kBigEndian; ++i) *size = *size << 8 | static_cast<uint8_t>(buffer_[at_ + i]);
    at_ += kBigEndian;
    taken_ += kBigEndian;
    return true;
  }
  *size = 0;
  for (size_t i = 0; i < kMostVarint; ++i) {
    if (!have(i + 1)) return error_ == ReadError::kOk && fail(ReadError::kTruncated);
    const auto byte = static_cast<uint8_t>(buffer_[at_ + i]);
    if (i == kMostVarint - 1 && byte > 1) break;
    *size |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte >= 0x80) continue;
    at_ += i + 1;
    taken_ += i + 1;
    return true;
  }
  return fail(ReadError::kBadLength);
}

bool LogReader::next(std::string_view* entry) {
  if (error_ != ReadError::kOk) return false;
  offset_ = taken_;
  if (!have(1)) return false;
  if (!started_) {
    started_ = true;
    big_endian_ = buffer_[at_] == 0;  // no entry is empty, and none of grpc-go's is of 16 MiB
  }
  uint64_t size;
  if (!read_length(&size)) return false;
  size_ = size;
  if (size == 0) return fail(ReadError::kBadLength);
  if (size >= kMostEntry) return fail(ReadError::kEntryTooLarge);
  if (!have(size)) return error_ == ReadError::kOk && fail(ReadError::kTruncated);
  *entry = {buffer_.data() + at_, static_cast<size_t>(size)};
  at_ += size;
  taken_ += size;
  return true;
}

}  // namespace drover::binlog
