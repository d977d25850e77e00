// The unknown fields of an object, record by record: one field, or one item of a message set, after the other.
//
//   [tag value] [tag value] [start-group ... end-group] ...
//
// An item of a message set (a message with option message_set_wire_format) is a group of number 1 that holds a type id
// and a message in either order; it counts as a length-delimited field whose number is the type id.
//
// The bytes come from a decoder and are usually well formed; reading ends at the first malformed record, and never
// leaves the bytes. Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::message {

struct UnknownRecord {
  uint32_t number = 0;     // of an item without a type id or message: 1, and it stays a group
  uint32_t wire_type = 0;  // as in a tag
  bool item = false;       // of a message set
  std::string_view bytes;  // the whole record
  std::string_view value;  // behind the tag; without the length, and without the end-group tag
};

class UnknownRecords {
 public:
  explicit UnknownRecords(std::string_view bytes, bool message_set = false)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()), message_set_(message_set) {}

  // False at the end, and at bytes that are not a field.
  bool next(UnknownRecord* out);
  // Bytes up to the end of the last record.
  size_t position() const { return static_cast<size_t>(at_ - begin_); }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
  bool message_set_;
};

// A varint at p; returns the position behind it, or null if it is cut off or longer than ten bytes.
const char* read_varint(const char* p, const char* end, uint64_t* value);
void append_varint(std::string* out, uint64_t value);

inline constexpr uint32_t kWireVarint = 0, kWireFixed64 = 1, kWireLength = 2, kWireStartGroup = 3, kWireEndGroup = 4,
                          kWireFixed32 = 5;
// The four tags of a message set's item.
inline constexpr uint32_t kItemStart = 1 << 3 | kWireStartGroup, kItemEnd = 1 << 3 | kWireEndGroup,
                          kItemTypeId = 2 << 3 | kWireVarint, kItemMessage = 3 << 3 | kWireLength;

}  // namespace drover::message
