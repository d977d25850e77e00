// The two halves of a 128-bit product, combined by xor: the basis of a map's hash. Equal on every machine, since one
// builds an index and another reads it. Freestanding.
#pragma once

#include <cstdint>

namespace drover {

// For machines without a multiplication of 64 by 64 bits.
inline uint64_t folded_product_by_words(uint64_t a, uint64_t b) {
  uint64_t a_low = static_cast<uint32_t>(a), a_high = a >> 32, b_low = static_cast<uint32_t>(b), b_high = b >> 32;
  uint64_t low = a_low * b_low, cross = a_high * b_low;
  uint64_t middle = a_low * b_high + static_cast<uint32_t>(cross) + (low >> 32);
  uint64_t high = a_high * b_high + (cross >> 32) + (middle >> 32);
  return (middle << 32 | static_cast<uint32_t>(low)) ^ high;
}

inline uint64_t folded_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  return folded_product_by_words(a, b);
#endif
}

}  // namespace drover
