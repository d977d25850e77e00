// Packed varints: the content of one length-delimited record, counted first, then read into an array at one go.
// The portable way is here, freestanding; packed_varints_x86.cc has those for machines with AVX2 and AVX-512.
#pragma once

#include "codec/cpu.h"
#include "codec/decode/store_varint.h"

namespace drover {

struct PackedResult {
  const char* error_at = nullptr;  // a varint of more than ten bytes
};

#if DROVER_BMI2
namespace x86 {
uint32_t count_varints(const char* p, uint32_t size);
PackedResult read_packed_varints(uint32_t op, const char* p, uint32_t size, char* at, uint32_t count);
}  // namespace x86
#endif

// How many varints end in [p, p + size).
inline uint32_t count_varints(const char* p, uint32_t size) {
#if DROVER_BMI2
  if (size >= 32 && cpu::has_avx2()) return x86::count_varints(p, size);
#endif
  uint32_t count = 0;
  for (uint32_t i = 0; i < size; ++i) count += static_cast<signed char>(p[i]) >= 0;
  return count;
}

inline void store_varint_of(uint32_t op, char* at, uint64_t value) {
  switch (op) {
    case schema::kOpBool:
      return store_varint<schema::kOpBool>(at, value);
    case schema::kOpSint32:
      return store_varint<schema::kOpSint32>(at, value);
    case schema::kOpSint64:
      return store_varint<schema::kOpSint64>(at, value);
    case schema::kOpVarint64:
      return store_varint<schema::kOpVarint64>(at, value);
    default:
      return store_varint<schema::kOpUint32>(at, value);
  }
}

// kLong: lengths differ too much for the branches of read_varint to be predicted, so each is read the branch-free way.
template <uint32_t kOp, bool kLong>
PackedResult read_varints_as(const char* p, const char* end, char* at) {
  while (p < end) {
    uint64_t value;
    const char* behind = kLong ? wire::read_varint_long(p, &value) : wire::read_varint(p, &value);
    if (behind == nullptr) [[unlikely]]
      return {p};
    p = behind;
    store_varint<kOp>(at, value);
    at += kVarintStorage<kOp>;
  }
  return {};
}

template <uint32_t kOp>
PackedResult read_varints(const char* p, uint32_t size, char* at, uint32_t count) {
  bool mixed = size > count + count / 4;
  return mixed ? read_varints_as<kOp, true>(p, p + size, at) : read_varints_as<kOp, false>(p, p + size, at);
}

// [p, p + size) holds exactly `count` varints, the last of which ends there, and 16 more bytes can be read behind it;
// `at` has room for that many elements.
inline PackedResult read_packed_varints(uint32_t op, const char* p, uint32_t size, char* at, uint32_t count) {
#if DROVER_BMI2
  if (size >= 64 && cpu::has_avx2()) return x86::read_packed_varints(op, p, size, at, count);
#endif
  switch (op) {
    case schema::kOpBool:
      return read_varints<schema::kOpBool>(p, size, at, count);
    case schema::kOpSint32:
      return read_varints<schema::kOpSint32>(p, size, at, count);
    case schema::kOpSint64:
      return read_varints<schema::kOpSint64>(p, size, at, count);
    case schema::kOpVarint64:
      return read_varints<schema::kOpVarint64>(p, size, at, count);
    default:
      return read_varints<schema::kOpUint32>(p, size, at, count);
  }
}

}  // namespace drover
