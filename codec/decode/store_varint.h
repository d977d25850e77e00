// How a decoded varint is stored, by the op of its FieldStep. Freestanding.
#pragma once

#include "codec/compiler.h"
#include "codec/wire.h"
#include "message/raw.h"
#include "schema/image.h"

namespace drover {

// How a varint is stored: zigzag undone, cut to the field's width.
template <uint32_t kOp>
DROVER_INLINE void store_varint(char* at, uint64_t value) {
  if constexpr (kOp == schema::kOpBool) {
    *at = value != 0;
  } else if constexpr (kOp == schema::kOpSint32) {
    raw::store(at, wire::unzigzag32(static_cast<uint32_t>(value)));
  } else if constexpr (kOp == schema::kOpSint64) {
    raw::store(at, wire::unzigzag(value));
  } else if constexpr (kOp == schema::kOpVarint64) {
    raw::store<uint64_t>(at, value);
  } else {
    raw::store<uint32_t>(at, static_cast<uint32_t>(value));
  }
}
template <uint32_t kOp>
inline constexpr uint32_t kVarintStorage = kOp == schema::kOpBool                                   ? 1
                                           : kOp == schema::kOpSint64 || kOp == schema::kOpVarint64 ? 8
                                                                                                    : 4;

}  // namespace drover
