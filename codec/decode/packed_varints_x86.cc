// Packed varints on x86-64 with AVX2 and BMI2, and with AVX-512 VBMI2 where available.
//
// A window of 64 bytes begins at the next varint. The top bits of its bytes make a mask of where varints end, so that
// the place of the next one does not depend on the bytes of the one before:
//
//   window:  05 | 96 01 | 80 80 04 | 7f ...      ends:  1 0 1 0 0 1 1 ...
//
// A window of one-byte varints is widened directly. With AVX-512 a window of one- and two-byte varints is combined in
// 16-bit lanes and compressed. In any other window each varint is gathered with pext.
#include "codec/decode/packed_varints.h"

#if DROVER_BMI2

#define DROVER_AVX2_BMI2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define DROVER_AVX512 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi2")))

namespace drover::x86 {
namespace {

constexpr uint64_t kSevenBits = 0x7f7f7f7f7f7f7f7f;
// Which bits of the ninth and tenth byte belong to a varint of [n] bytes.
constexpr uint16_t kHighBytes[11] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0x007f, 0x017f};

DROVER_AVX2_BMI2 DROVER_INLINE uint64_t load64(const char* p) { return raw::load<uint64_t>(p); }

// Bit i: byte i goes on.
DROVER_AVX2_BMI2 DROVER_INLINE uint64_t continuations(const char* p) {
  auto low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
  auto high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))));
  return low | uint64_t{high} << 32;
}

// A varint of `size` bytes, at most ten.
template <uint32_t kOp>
DROVER_AVX2_BMI2 DROVER_INLINE uint64_t gather(const char* p, size_t size) {
  uint64_t value = _pext_u64(_bzhi_u64(load64(p), static_cast<unsigned>(size * 8)), kSevenBits);
  if constexpr (kVarintStorage<kOp> == 8 || kOp == schema::kOpBool) {
    uint64_t high = raw::load<uint16_t>(p + 8) & kHighBytes[size];
    value |= _pext_u64(high, 0x017f) << 56;
  }
  return value;
}

// Sixty-four varints of one byte.
template <uint32_t kOp>
DROVER_AVX2_BMI2 DROVER_INLINE void widen_64(const char* p, char* at) {
  if constexpr (kOp == schema::kOpVarint64) {
    for (int i = 0; i < 64; i += 4) {
      __m128i bytes = _mm_cvtsi32_si128(raw::load<int32_t>(p + i));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + i * 8), _mm256_cvtepu8_epi64(bytes));
    }
  } else if constexpr (kOp == schema::kOpUint32) {
    for (int i = 0; i < 64; i += 8) {
      __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + i));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + i * 4), _mm256_cvtepu8_epi32(bytes));
    }
  } else {
    for (int i = 0; i < 64; ++i) store_varint<kOp>(at + i * kVarintStorage<kOp>, static_cast<uint8_t>(p[i]));
  }
}

// 32 bytes of varints of one and two bytes, into 16-bit lanes; how many end in front of `whole`'s first zero bit.
struct Pairs {
  __m512i values;
  uint32_t count;
};
DROVER_AVX512 DROVER_INLINE Pairs pairs_of(const char* p, uint32_t starts, uint32_t goes_on) {
  const __m512i seven = _mm512_set1_epi16(0x7f);
  __m512i first = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  __m512i second = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 1)));
  first = _mm512_and_si512(first, seven);
  second = _mm512_maskz_slli_epi16(goes_on, _mm512_and_si512(second, seven), 7);
  return {_mm512_maskz_compress_epi16(starts, _mm512_or_si512(first, second)),
          static_cast<uint32_t>(__builtin_popcount(starts))};
}
template <uint32_t kOp>
DROVER_AVX512 DROVER_INLINE void store_pairs(__m512i values, uint32_t count, char* at) {
  alignas(64) uint16_t lanes[32];
  _mm512_store_si512(lanes, values);
  if constexpr (kVarintStorage<kOp> == 8) {
    for (uint32_t i = 0; i < count; i += 8) {
      __m512i wide = _mm512_cvtepu16_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes + i)));
      _mm512_storeu_si512(at + i * 8, wide);
    }
  } else {
    for (uint32_t i = 0; i < count; i += 16) {
      __m512i wide = _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + i)));
      _mm512_storeu_si512(at + i * 4, wide);
    }
  }
}

// What is left behind the last whole window.
template <uint32_t kOp>
DROVER_AVX2_BMI2 DROVER_INLINE PackedResult read_rest(const char* p, const char* end, char* at) {
  while (p < end) {
    uint64_t value;
    const char* behind = wire::read_varint(p, &value);
    if (behind == nullptr) return {p};
    p = behind;
    store_varint<kOp>(at, value);
    at += kVarintStorage<kOp>;
  }
  return {};
}

// A window with varints of any length; the position behind its last whole varint, or null.
template <uint32_t kOp>
DROVER_AVX2_BMI2 DROVER_INLINE const char* read_window(const char* p, uint64_t goes_on, char** at) {
  const char* start = p;
  char* to = *at;
  for (uint64_t ends = ~goes_on; ends != 0; ends = _blsr_u64(ends)) {
    const char* behind = p + _tzcnt_u64(ends) + 1;
    auto size = static_cast<size_t>(behind - start);
    if (size > wire::kMaxVarint) [[unlikely]]
      return nullptr;
    store_varint<kOp>(to, gather<kOp>(start, size));
    to += kVarintStorage<kOp>;
    start = behind;
  }
  *at = to;
  return start;
}

template <uint32_t kOp>
DROVER_AVX2_BMI2 PackedResult read_avx2(const char* p, uint32_t size, char* at) {
  const char* end = p + size;
  while (end - p >= 64) {
    uint64_t goes_on = continuations(p);
    if (goes_on == 0) {
      widen_64<kOp>(p, at);
      at += 64 * kVarintStorage<kOp>;
      p += 64;
      continue;
    }
    const char* behind = read_window<kOp>(p, goes_on, &at);
    if (behind == nullptr || behind == p) [[unlikely]]
      break;  // a varint that is too long: read_rest says where
    p = behind;
  }
  return read_rest<kOp>(p, end, at);
}

template <uint32_t kOp>
DROVER_AVX512 PackedResult read_avx512(const char* p, uint32_t size, char* at, uint32_t count) {
  const char* end = p + size;
  char* at_end = at + size_t{count} * kVarintStorage<kOp>;
  while (end - p >= 64) {
    uint64_t goes_on = continuations(p);
    if (goes_on == 0) {
      widen_64<kOp>(p, at);
      at += 64 * kVarintStorage<kOp>;
      p += 64;
      continue;
    }
    // Whole vectors are stored, so there has to be room for 32 elements twice.
    if ((goes_on & goes_on >> 1) == 0 && at_end - at >= 64 * static_cast<ptrdiff_t>(kVarintStorage<kOp>)) {
      uint64_t cut = goes_on & uint64_t{1} << 63;  // the last byte's varint ends in the next window
      uint64_t starts = ~(goes_on << 1) & ~cut;
      Pairs low = pairs_of(p, static_cast<uint32_t>(starts), static_cast<uint32_t>(goes_on));
      Pairs high = pairs_of(p + 32, static_cast<uint32_t>(starts >> 32), static_cast<uint32_t>(goes_on >> 32));
      store_pairs<kOp>(low.values, low.count, at);
      at += low.count * kVarintStorage<kOp>;
      store_pairs<kOp>(high.values, high.count, at);
      at += high.count * kVarintStorage<kOp>;
      p += cut != 0 ? 63 : 64;
      continue;
    }
    const char* behind = read_window<kOp>(p, goes_on, &at);
    if (behind == nullptr || behind == p) [[unlikely]]
      break;
    p = behind;
  }
  return read_rest<kOp>(p, end, at);
}

}  // namespace

DROVER_AVX2_BMI2 uint32_t count_varints(const char* p, uint32_t size) {
  uint32_t count = 0, i = 0;
  for (; i + 64 <= size; i += 64) count += static_cast<uint32_t>(__builtin_popcountll(~continuations(p + i)));
  for (; i < size; ++i) count += static_cast<signed char>(p[i]) >= 0;
  return count;
}

PackedResult read_packed_varints(uint32_t op, const char* p, uint32_t size, char* at, uint32_t count) {
  bool avx512 = cpu::has_avx512();
  switch (op) {
    case schema::kOpBool:
      return read_avx2<schema::kOpBool>(p, size, at);
    case schema::kOpSint32:
      return read_avx2<schema::kOpSint32>(p, size, at);
    case schema::kOpSint64:
      return read_avx2<schema::kOpSint64>(p, size, at);
    case schema::kOpVarint64:
      return avx512 ? read_avx512<schema::kOpVarint64>(p, size, at, count)
                    : read_avx2<schema::kOpVarint64>(p, size, at);
    default:
      return avx512 ? read_avx512<schema::kOpUint32>(p, size, at, count) : read_avx2<schema::kOpUint32>(p, size, at);
  }
}

}  // namespace drover::x86

#endif
