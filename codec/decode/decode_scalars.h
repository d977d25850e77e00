// Handlers of singular scalars: varints, closed enums and fixed-size values.
#pragma once

#include "codec/cpu.h"
#include "codec/decode/decode_lookup.h"
#include "codec/decode/store_varint.h"

namespace drover {

template <typename Memory>
struct Decoder<Memory>::Scalars {
  template <uint32_t kOp, int kTagSize>
  static DROVER_DECODE_HANDLER(varint) {
    DROVER_DECODE_CHECK_TAG();
    uint64_t value = static_cast<uint8_t>(p[kTagSize]);
    if (value >= 0x80) {
      uint64_t second = static_cast<uint8_t>(p[kTagSize + 1]);
      if (second >= 0x80) {
        const char* behind = wire::read_varint_long(p + kTagSize, &value);
        if (behind == nullptr) [[unlikely]] {
          p = d->fail(DecodeError::kOverlongVarint, p + kTagSize);
          DROVER_DECODE_GO(Dispatch::failed);
        }
        store_varint<kOp>(place(object, step), value);
        has |= has_bit(step);
        p = behind;
        DROVER_DECODE_NEXT();
      }
      value = (value & 0x7f) | second << 7;
      ++p;
    }
    store_varint<kOp>(place(object, step), value);
    has |= has_bit(step);
    p += kTagSize + 1;
    DROVER_DECODE_NEXT();
  }

#if DROVER_BMI2
  // Nine bytes or ten; what the tenth holds above bit 63 is dropped.
  template <uint32_t kOp, int kTagSize>
  __attribute__((target("bmi,bmi2"))) static DROVER_NOINLINE DROVER_DECODE_HANDLER(varint_of_nine) {
    p += kTagSize;
    uint64_t value = _pext_u64(raw::load<uint64_t>(p), 0x7f7f7f7f7f7f7f7f);
    uint64_t last = raw::load<uint16_t>(p + 8);
    value |= (last & 0x7f) << 56;
    if ((last & 0x80) != 0) {
      if (last >= 0x8000) {
        p = d->fail(DecodeError::kOverlongVarint, p);
        DROVER_DECODE_GO(Dispatch::failed);
      }
      value |= last >> 8 << 63;
      ++p;
    }
    store_varint<kOp>(place(object, step), value);
    has |= has_bit(step);
    p += 9;
    DROVER_DECODE_NEXT();
  }
  // Where one instruction gathers a varint's bits.
  template <uint32_t kOp, int kTagSize>
  __attribute__((target("bmi,bmi2"))) static DROVER_DECODE_HANDLER(varint_bmi2) {
    DROVER_DECODE_CHECK_TAG();
    uint64_t value = static_cast<uint8_t>(p[kTagSize]);
    if (value >= 0x80) {
      uint64_t bytes = raw::load<uint64_t>(p + kTagSize);
      uint64_t stops = _andn_u64(bytes, 0x8080808080808080);
      if (stops == 0) [[unlikely]]
        DROVER_DECODE_GO((varint_of_nine<kOp, kTagSize>));
      // All bits up to the first that stops.
      value = _pext_u64(bytes & _blsmsk_u64(stops), 0x7f7f7f7f7f7f7f7f);
      p += _tzcnt_u64(stops) / 8;
    }
    store_varint<kOp>(place(object, step), value);
    has |= has_bit(step);
    p += kTagSize + 1;
    DROVER_DECODE_NEXT();
  }
#endif

  template <int kTagSize>
  static DROVER_DECODE_HANDLER(closed_enum) {
    DROVER_DECODE_CHECK_TAG();
    uint64_t value;
    const char* behind = wire::read_varint(p + kTagSize, &value);
    if (behind == nullptr) [[unlikely]] {
      p = d->fail(DecodeError::kOverlongVarint, p + kTagSize);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    const FieldEntry& field = d->field_at(step);
    p = behind;
    if (!d->enum_knows(field, value)) [[unlikely]] {
      if (!d->append_unknown_varint(object, wire::make_tag(field.number, wire::kVarint), value, p)) {
        p = nullptr;
        DROVER_DECODE_GO(Dispatch::failed);
      }
      DROVER_DECODE_NEXT();
    }
    raw::store(place(object, step), static_cast<uint32_t>(value));
    has |= has_bit(step);
    DROVER_DECODE_NEXT();
  }

  template <typename Bits, int kTagSize>
  static DROVER_DECODE_HANDLER(fixed) {
    DROVER_DECODE_CHECK_TAG();
    raw::store(place(object, step), raw::load<Bits>(p + kTagSize));
    has |= has_bit(step);
    p += kTagSize + sizeof(Bits);
    DROVER_DECODE_NEXT();
  }
};

}  // namespace drover
