// UTF-8 validation with AVX2, 32 bytes at a time, by the look-up method of Keiser and Lemire ("Validating UTF-8 In Less
// Than One Instruction Per Byte", 2021): for each byte, three look-ups by the nibbles of it and the byte before give
// the rules that the pair may break; a rule that all three give is broken. Rules on the third and fourth byte of a
// sequence are checked by the bytes two and three before.
#include "codec/cpu.h"
#include "codec/utf8.h"

#if DROVER_BMI2

#define DROVER_AVX2 __attribute__((target("avx2")))

namespace drover::x86 {
namespace {

// The rules, one bit each.
constexpr uint8_t kTooShort = 1;            // a lead byte without a continuation behind it
constexpr uint8_t kTooLong = 2;             // a continuation behind ASCII
constexpr uint8_t kOverlong3 = 4;           // E0 80..9F
constexpr uint8_t kTooLarge = 8;            // F4 90.. and F5..FF
constexpr uint8_t kSurrogate = 16;          // ED A0..BF
constexpr uint8_t kOverlong2 = 32;          // C0, C1
constexpr uint8_t kTooLarge1000 = 64;       // F5..FF 80..8F
constexpr uint8_t kOverlong4 = 64;          // F0 80..8F
constexpr uint8_t kTwoContinuations = 128;  // right only as the third or fourth byte of a sequence
constexpr uint8_t kCarry = kTooShort | kTooLong | kTwoContinuations;  // not decided by the lead byte's low nibble
constexpr uint8_t kAbove = kCarry | kTooLarge | kTooLarge1000;

alignas(16) constexpr uint8_t kFirstHigh[16] = {kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,  // 0 to 7: ASCII
                                                kTwoContinuations,
                                                kTwoContinuations,
                                                kTwoContinuations,
                                                kTwoContinuations,  // 8 to B: continuations
                                                kTooShort | kOverlong2,
                                                kTooShort,
                                                kTooShort | kOverlong3 | kSurrogate,
                                                kTooShort | kTooLarge | kTooLarge1000 | kOverlong4};
alignas(16) constexpr uint8_t kFirstLow[16] = {kCarry | kOverlong2 | kOverlong3 | kOverlong4,
                                               kCarry | kOverlong2,
                                               kCarry,
                                               kCarry,
                                               kCarry | kTooLarge,
                                               kAbove,
                                               kAbove,
                                               kAbove,
                                               kAbove,
                                               kAbove,
                                               kAbove,
                                               kAbove,
                                               kAbove,
                                               kAbove | kSurrogate,
                                               kAbove,
                                               kAbove};
constexpr uint8_t kContinued = kTooLong | kOverlong2 | kTwoContinuations;
alignas(16) constexpr uint8_t kSecondHigh[16] = {kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,  // 0 to 7
                                                 kContinued | kOverlong3 | kTooLarge1000 | kOverlong4,
                                                 kContinued | kOverlong3 | kTooLarge,
                                                 kContinued | kSurrogate | kTooLarge,
                                                 kContinued | kSurrogate | kTooLarge,  // 8 to B
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort};  // C to F

DROVER_AVX2 inline __m256i table(const uint8_t* entries) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(entries)));
}
DROVER_AVX2 inline __m256i high_nibbles(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
}

// The bytes of `now` moved up by kBy, those of `before` behind them.
template <int kBy>
DROVER_AVX2 inline __m256i behind(__m256i before, __m256i now) {
  return _mm256_alignr_epi8(now, _mm256_permute2x128_si256(before, now, 0x21), 16 - kBy);
}

// Not zero where a rule is broken.
DROVER_AVX2 inline __m256i broken(__m256i before, __m256i now) {
  __m256i first = behind<1>(before, now);
  __m256i first_low = _mm256_and_si256(first, _mm256_set1_epi8(0x0f));
  __m256i pair = _mm256_and_si256(_mm256_shuffle_epi8(table(kFirstHigh), high_nibbles(first)),
                                  _mm256_shuffle_epi8(table(kFirstLow), first_low));
  pair = _mm256_and_si256(pair, _mm256_shuffle_epi8(table(kSecondHigh), high_nibbles(now)));
  // 0x80 where a third or fourth byte has to be.
  __m256i third = _mm256_subs_epu8(behind<2>(before, now), _mm256_set1_epi8(0xe0 - 0x80));
  __m256i fourth = _mm256_subs_epu8(behind<3>(before, now), _mm256_set1_epi8(0xf0 - 0x80));
  __m256i wanted = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
  return _mm256_xor_si256(wanted, pair);
}

DROVER_AVX2 inline __m256i load(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

DROVER_AVX2 inline __m256i load_both(const char* p) { return _mm256_or_si256(load(p), load(p + 32)); }
DROVER_AVX2 inline bool is_ascii(__m256i bytes) { return _mm256_movemask_epi8(bytes) == 0; }

}  // namespace

DROVER_AVX2 bool is_valid_utf8(const char* bytes, size_t size) {
  const char* end = bytes + size;
  const char* p = bytes;
  __m256i before = _mm256_setzero_si256(), errors = before;
  bool before_is_ascii = true;
  while (end - p >= 64) {
    // Far into ASCII: with one test for 256 bytes it is as fast as the loads are.
    while (before_is_ascii && end - p >= 256) {
      __m256i all = _mm256_or_si256(_mm256_or_si256(load_both(p), load_both(p + 64)),
                                    _mm256_or_si256(load_both(p + 128), load_both(p + 192)));
      if (!is_ascii(all)) break;
      p += 256;
      before = _mm256_setzero_si256();  // any ASCII
    }
    if (end - p < 64) break;
    __m256i first = load(p), second = load(p + 32);
    bool ascii = is_ascii(_mm256_or_si256(first, second));
    if (!ascii || !before_is_ascii) {
      errors = _mm256_or_si256(errors, broken(before, first));
      errors = _mm256_or_si256(errors, broken(first, second));
    }
    before = second;
    before_is_ascii = ascii;
    p += 64;
  }
  // The rest, and a zero behind it, which a sequence that is cut off runs into.
  auto left = static_cast<size_t>(end - p);
  if (before_is_ascii && (left == 0 || (size >= 64 && is_ascii(load_both(end - 64))))) {
    return _mm256_testz_si256(errors, errors) != 0;
  }
  char rest[64] = {};
  if (left != 0) std::memcpy(rest, p, left);
  bool ascii = is_ascii(load_both(rest));
  for (size_t i = 0; i <= left && !(ascii && before_is_ascii); i += 32) {
    __m256i now = load(rest + i);  // i < 64, since less than 64 bytes are left
    errors = _mm256_or_si256(errors, broken(before, now));
    before = now;
  }
  return _mm256_testz_si256(errors, errors) != 0;
}

}  // namespace drover::x86

#endif
