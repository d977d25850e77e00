// The wire format's primitives: tags, varints, zigzag (protobuf.dev/programming-guides/encoding).
//
// Reading functions take a pointer behind which at least 16 bytes can be read (codec/input.h sees to that) and
// return the position behind what they read, or null if a varint is too long. Freestanding.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace drover::wire {

enum Type : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

inline constexpr int kMaxVarint = 10;
inline constexpr uint32_t kMaxMessage = 0x7fffffff;  // bytes; protobuf's own limit

inline constexpr uint32_t make_tag(uint32_t number, uint32_t type) { return number << 3 | type; }

inline uint64_t zigzag(int64_t n) { return static_cast<uint64_t>(n) << 1 ^ static_cast<uint64_t>(n >> 63); }
inline int64_t unzigzag(uint64_t n) { return static_cast<int64_t>(n >> 1 ^ (0 - (n & 1))); }
inline int32_t unzigzag32(uint32_t n) { return static_cast<int32_t>(n >> 1 ^ (0 - (n & 1))); }

// Three bytes or more. Ten are accepted; what the tenth holds above bit 63 is dropped, as protobuf does.
inline const char* read_varint_long(const char* p, uint64_t* value) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  uint64_t stops = ~word & 0x8080808080808080;
  unsigned bits = 64;
  if (stops != 0) [[likely]] {
    bits = static_cast<unsigned>(std::countr_zero(stops)) + 1;  // 8 * length
    word &= ~uint64_t{0} >> (64 - bits);
  }
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  word = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
  if (stops != 0) [[likely]] {
    *value = word;
    return p + bits / 8;
  }
  uint64_t ninth = static_cast<uint8_t>(p[8]), tenth = static_cast<uint8_t>(p[9]);
  if (ninth < 0x80) {
    *value = word | ninth << 56;
    return p + 9;
  }
  *value = word | (ninth & 0x7f) << 56 | tenth << 63;
  return tenth < 0x80 ? p + 10 : nullptr;
}

inline const char* read_varint(const char* p, uint64_t* value) {
  uint64_t first = static_cast<uint8_t>(p[0]);
  if (first < 0x80) [[likely]] {
    *value = first;
    return p + 1;
  }
  uint64_t second = static_cast<uint8_t>(p[1]);
  if (second < 0x80) {
    *value = (first & 0x7f) | second << 7;
    return p + 2;
  }
  uint64_t slow;  // so that the caller's value can stay in a register
  p = read_varint_long(p, &slow);
  *value = slow;
  return p;
}

// At most five bytes and 32 bits; null otherwise.
inline const char* read_varint32(const char* p, uint32_t* value) {
  uint64_t result = 0;
  for (int i = 0; i < 5; ++i) {
    uint64_t byte = static_cast<uint8_t>(p[i]);
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = static_cast<uint32_t>(result);
      return result > UINT32_MAX ? nullptr : p + i + 1;
    }
  }
  return nullptr;
}

inline size_t varint_size(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) * 9 + 64) / 64; }

// The low 56 bits, seven to a byte: a varint's bytes, but for the bits that say there is more.
inline uint64_t spread_varint(uint64_t value) {
  value = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
  value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
  return (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
}

inline char* write_varint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

}  // namespace drover::wire
