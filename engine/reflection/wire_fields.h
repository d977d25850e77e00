// WireFields: the fields of a protobuf message in bytes of any content, one after the other. Nothing is read behind the
// end. For messages that are looked at once, such as descriptors; requests and replies have codec/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::engine {

class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // The next field. False: the end, or bytes that are no field (broken).
  bool next() {
    if (at_ == end_ || broken_) return false;
    uint64_t tag;
    if (!varint(&tag) || tag > UINT32_MAX || (tag >> 3) == 0) return fail();
    number = static_cast<uint32_t>(tag >> 3);
    type = static_cast<uint32_t>(tag & 7);
    bytes = {};
    value = 0;
    switch (type) {
      case 0:
        return varint(&value) || fail();
      case 1:
        return skip(8);
      case 2:
        return varint(&value) && take(value);
      case 5:
        return skip(4);
      default:  // groups are in none of these messages
        return fail();
    }
  }
  // The next field is of that number, with a length.
  bool is_bytes(uint32_t wanted) const { return number == wanted && type == 2; }
  bool is_varint(uint32_t wanted) const { return number == wanted && type == 0; }
  bool broken() const { return broken_; }

  uint32_t number = 0;
  uint32_t type = 0;
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a field with a length

 private:
  bool fail() { return broken_ = true, false; }
  bool take(uint64_t size) {
    if (size > static_cast<uint64_t>(end_ - at_)) return fail();
    bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  bool skip(uint64_t size) {
    if (!take(size)) return false;
    bytes = {};
    return true;
  }
  bool varint(uint64_t* out) {
    uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return fail();
      const auto byte = static_cast<uint8_t>(*at_++);
      if (shift < 64) result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return *out = result, true;
    }
    return fail();
  }

  const char* at_;
  const char* end_;
  bool broken_ = false;
};

// ---- writing

inline void append_varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
// The tag and length in front of `size` bytes.
inline void append_length(uint32_t number, uint64_t size, std::string* out) {
  append_varint(uint64_t{number} << 3 | 2, out);
  append_varint(size, out);
}
inline void append_bytes(uint32_t number, std::string_view bytes, std::string* out) {
  append_length(number, bytes.size(), out);
  out->append(bytes);
}

}  // namespace drover::engine
