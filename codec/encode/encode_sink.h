// Where the encoder writes, from the last byte to the first. The position is a pointer that the encoder keeps in a
// register and hands from function to function; a sink only gives it room: BackwardSink in the buffers of an Encoded
// (codec/encode/backward_sink.h), FixedSink in memory of the caller's (codec/encode/fixed_sink.h). CountingSink only
// counts: it never runs out, and nothing is written. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/compiler.h"
#include "codec/encode/encode_types.h"
#include "codec/wire.h"

namespace drover {

class CountingSink {
 public:
  static constexpr bool kWrites = false;
  static constexpr size_t kScalarRoom = 32;
  static constexpr uint32_t kVarintsAtOnce = 64;  // of a packed field, after asking for room once

  // A position that is never written to, with room for all that a message may hold in front of it.
  char* start() { return reinterpret_cast<char*>(kTop); }
  size_t total(const char* p) const { return kTop - reinterpret_cast<uintptr_t>(p); }
  char* room(char* p, size_t) { return p; }
  bool has_room(const char*, size_t) const { return true; }
  const char* low() const { return nullptr; }
  bool refers(size_t) const { return false; }
  char* refer(char* p, const char*, size_t size) { return p - size; }
  EncodeError error() const { return EncodeError::kOk; }

 private:
  static constexpr uintptr_t kTop = UINTPTR_MAX / 2 + 1;
};

// ---- writing downwards from p; the caller has asked for room

template <typename Sink>
inline char* put_bytes(char* p, const void* data, size_t size) {
  p -= size;
  if constexpr (Sink::kWrites) {
    if (size != 0) std::memcpy(p, data, size);  // an empty string may have no data
  }
  return p;
}

// Too small for a call of memcpy.
inline constexpr size_t kCopiedWithoutCall = 96;
static_assert(kCopiedWithoutCall < 0x80);
inline __attribute__((always_inline)) void copy_short(char* to, const char* from, size_t size) {
  if (size >= 32) {
    char* last = to + size - 32;
    const char* last_from = from + size - 32;
    while (to < last) {
      std::memcpy(to, from, 32);
      to += 32;
      from += 32;
      asm volatile("" : "+r"(to));  // stays a loop
    }
    std::memcpy(last, last_from, 32);
  } else if (size >= 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else if (size != 0) {
    char first = from[0], middle = from[size / 2], end = from[size - 1];
    to[0] = first;
    to[size / 2] = middle;
    to[size - 1] = end;
  }
}

inline void copy_bytes(char* to, const char* from, size_t size) {
  if (size > kCopiedWithoutCall) {
    std::memcpy(to, from, size);
  } else {
    copy_short(to, from, size);
  }
}

// Three bytes or more. Up to eight are made in one word that ends where the varint does; this overwrites bytes in front
// of it, for which the scalars' room suffices.
template <typename Sink>
inline char* put_varint_long(char* p, uint64_t value) {
  size_t size = wire::varint_size(value);
  if constexpr (Sink::kWrites) {
    if (size <= 8) [[likely]] {
      uint64_t word = wire::spread_varint(value) | (uint64_t{0x8080808080808080} >> (72 - 8 * size));
      word <<= 64 - 8 * size;
      std::memcpy(p - 8, &word, 8);
    } else {
      uint64_t word = wire::spread_varint(value) | 0x8080808080808080;
      char* to = p - size;
      std::memcpy(to, &word, 8);
      to[8] = static_cast<char>(value >> 56 | (size == 10 ? 0x80 : 0));
      if (size == 10) to[9] = 1;
    }
  }
  return p - size;
}

template <typename Sink>
inline __attribute__((always_inline)) char* put_varint(char* p, uint64_t value) {
  if (value < 0x80) {
    --p;
    if constexpr (Sink::kWrites) *p = static_cast<char>(value);
    return p;
  }
  if (value < 0x4000) {
    p -= 2;
    if constexpr (Sink::kWrites) {
      uint16_t both = static_cast<uint16_t>((value & 0x7f) | 0x80 | (value >> 7) << 8);
      std::memcpy(p, &both, 2);
    }
    return p;
  }
  return put_varint_long<Sink>(p, value);
}

}  // namespace drover
