// UTF-8 validation (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF). Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drover {

bool is_valid_utf8(const char* bytes, size_t size);

namespace x86 {
bool is_valid_utf8(const char* bytes, size_t size);  // needs AVX2
}

// The first `size` of 32 readable bytes are ASCII; 1 <= size <= 32.
inline bool is_ascii_32(const char* bytes, size_t size) {
  uint64_t words[4];
  std::memcpy(words, bytes, sizeof(words));
  constexpr uint64_t kHighBits = 0x8080808080808080;
  uint64_t seen = 0;
  for (size_t i = 0; i < 4; ++i) {
    if (size > i * 8) seen |= words[i] << (size >= i * 8 + 8 ? 0 : 64 - (size - i * 8) * 8);
  }
  return (seen & kHighBits) == 0;
}

}  // namespace drover
