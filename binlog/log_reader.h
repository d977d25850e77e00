// LogReader: takes a binary log apart into its entries' bytes. A log is a sequence of entries, each behind its length:
//
//   varint length | entry | varint length | entry | ...     droverd, grpc-java; protobuf calls it delimited
//   u32 big-endian length | entry | ...                     grpc-go; told by the first byte, which is 0
//
// A file may be anything: it is read in pieces, and memory grows with what was read, not with what a length says. What
// an entry says is protobuf's part (proto/grpc/binarylog/v1/binarylog.proto).
//
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace drover::binlog {

enum class ReadError : uint8_t {
  kOk,
  kTruncated,  // the file ends inside an entry: its writer was stopped, or still writes
  kBadLength,  // no length: more than ten bytes, or 0
  kEntryTooLarge,
  kCannotRead,  // the system says why
};
const char* error_name(ReadError error);

class LogReader {
 public:
  static constexpr size_t kMostEntry = size_t{1} << 31;  // what protobuf reads at the most
  // Up to `size` bytes of the file; 0: its end; negative: -errno.
  using Source = std::function<long(char* to, size_t size)>;

  explicit LogReader(Source source) : source_(std::move(source)) {}

  // The next entry; valid until the next call. False: the end, or error().
  bool next(std::string_view* entry);

  ReadError error() const { return error_; }
  // A sentence with the place; of an error.
  std::string message() const;
  // Where in the file the entry begins that next() gave, or could not give.
  uint64_t offset() const { return offset_; }

 private:
  static constexpr size_t kPiece = 64 << 10;

  bool fail(ReadError error) { return error_ = error, false; }
  bool have(size_t size);
  bool read_length(uint64_t* size);

  Source source_;
  std::string buffer_;
  size_t at_ = 0;        // in buffer_: what is not taken yet
  uint64_t offset_ = 0;  // in the file
  uint64_t taken_ = 0;   // bytes of the file in front of buffer_[at_]
  uint64_t size_ = 0;    // that an entry is said to have
  bool started_ = false, big_endian_ = false, ended_ = false;
  ReadError error_ = ReadError::kOk;
  int system_error_ = 0;
};

}  // namespace drover::binlog
