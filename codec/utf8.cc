// The portable way: ASCII is skipped 16 bytes at a time, then 8; everything else is checked sequence by sequence.
// utf8_x86.cc has the AVX2 version.
#include "codec/utf8.h"

#include <cstdint>
#include <cstring>

#include "codec/cpu.h"

namespace drover {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

uint64_t load64(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

const char* skip_ascii(const char* p, const char* end) {
  while (end - p >= 16 && ((load64(p) | load64(p + 8)) & kHighBits) == 0) p += 16;
  if (end - p >= 8 && (load64(p) & kHighBits) == 0) p += 8;
  while (p < end && static_cast<signed char>(*p) >= 0) ++p;
  return p;
}

bool continues(uint8_t byte) { return (byte & 0xc0) == 0x80; }

// Length of the sequence at `p`, whose first byte is not ASCII; 0 if it is not valid.
size_t sequence_length(const uint8_t* p, size_t left) {
  uint8_t lead = p[0];
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return left >= 2 && continues(p[1]) ? 2 : 0;
  if (lead < 0xf0) {
    if (left < 3 || !continues(p[1]) || !continues(p[2])) return 0;
    if (lead == 0xe0 && p[1] < 0xa0) return 0;
    return lead == 0xed && p[1] >= 0xa0 ? 0 : 3;
  }
  if (lead > 0xf4 || left < 4 || !continues(p[1]) || !continues(p[2]) || !continues(p[3])) return 0;
  if (lead == 0xf0 && p[1] < 0x90) return 0;
  return lead == 0xf4 && p[1] >= 0x90 ? 0 : 4;
}

}  // namespace

bool is_valid_utf8(const char* bytes, size_t size) {
#if DROVER_BMI2
  if (size >= 64 && cpu::has_avx2()) return x86::is_valid_utf8(bytes, size);
#endif
  const char* end = bytes + size;
  const char* p = bytes;
  for (;;) {
    p = skip_ascii(p, end);
    if (p == end) return true;
    while (p < end && static_cast<signed char>(*p) < 0) {
      size_t length = sequence_length(reinterpret_cast<const uint8_t*>(p), static_cast<size_t>(end - p));
      if (length == 0) return false;
      p += length;
    }
  }
}

}  // namespace drover
