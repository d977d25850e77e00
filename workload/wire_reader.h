// Walks wire bytes field by field, for statistics and for mutation at field boundaries. Takes no schema and trusts
// nothing: every length is checked against what is left.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover::workload {

struct WireField {
  uint32_t number = 0;
  uint32_t wire_type = 0;
  size_t begin = 0;        // of the tag
  size_t value = 0;        // of what stands behind the tag; of a delimited field, of its length
  size_t payload = 0;      // of what stands behind the length (delimited), else the same as value
  size_t end = 0;          // of the field; of a group, behind its end tag
  size_t payload_end = 0;  // of a group, before its end tag; else the same as end
  uint64_t varint = 0;     // the value of a varint, the bits of a fixed32 or fixed64
};

class WireReader {
 public:
  // Of bytes [begin, end) of `wire`; offsets count from the beginning of `wire`.
  WireReader(std::string_view wire, size_t begin, size_t end) : wire_(wire), at_(begin), end_(end) {}
  explicit WireReader(std::string_view wire) : WireReader(wire, 0, wire.size()) {}

  // The next field; false at the end, or where the bytes are no field: ok() tells which.
  bool next(WireField* field) { return ok_ && at_ < end_ && (ok_ = read(field, 0)); }
  bool ok() const { return ok_; }
  // One varint at the reader's place, for the elements of packed fields.
  bool varint(uint64_t* value);
  bool skip(size_t bytes) {
    if (bytes > end_ - at_) return ok_ = false;
    at_ += bytes;
    return true;
  }
  size_t position() const { return at_; }
  bool at_end() const { return at_ >= end_; }

 private:
  bool read(WireField* field, int depth);
  bool read_group(WireField* field, int depth);
  bool read_fixed(size_t bytes, uint64_t* value);

  std::string_view wire_;
  size_t at_, end_;
  bool ok_ = true;
};

}  // namespace drover::workload
