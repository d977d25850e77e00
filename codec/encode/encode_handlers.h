// The encoder's handlers: one for each op of a FieldStep and size of tag. `step` is the one at hand, `has` the object's
// has-bits, with those bits set that stand for "always" and "unless zero".
#pragma once

#include "codec/cpu.h"
#include "codec/encode/encoder.h"

namespace drover {

template <typename Memory, typename Sink>
struct Encoder<Memory, Sink>::Handlers : WalkHandlers<Encoder<Memory, Sink>, Memory> {
  using Walk = WalkHandlers<Encoder, Memory>;
  using Walk::by_value;
  using Walk::end;
  using Walk::generic;
  using Walk::repeated;
  using Walk::whole;
#if DROVER_MUSTTAIL
  using Walk::next;
#endif

  // ---- a step's parts
  // The tag as it stands in the step; one that takes more than two bytes is made from the entry.
  template <int kTagSize>
  static DROVER_INLINE char* put_tag(Encoder* e, char* p, const FieldStep* step) {
    if constexpr (kTagSize == 1) {
      --p;
      if constexpr (Sink::kWrites) *p = static_cast<char>(step->tag);
      return p;
    }
    uint16_t bytes = step->tag;
    if (bytes == 0) [[unlikely]]
      return e->tag(p, e->field_of(step));
    p -= 2;
    if constexpr (Sink::kWrites) std::memcpy(p, &bytes, 2);
    return p;
  }
  // A value below 128 and the tag in front of it.
  template <int kTagSize>
  static DROVER_INLINE char* put_tag_and_byte(Encoder* e, char* p, const FieldStep* step, uint64_t value) {
    if constexpr (kTagSize == 1) {
      p -= 2;
      auto both = static_cast<uint16_t>(static_cast<uint8_t>(step->tag) | value << 8);
      if constexpr (Sink::kWrites) std::memcpy(p, &both, 2);
      return p;
    }
    --p;
    if constexpr (Sink::kWrites) *p = static_cast<char>(value);
    return put_tag<kTagSize>(e, p, step);
  }
  // A new block; then once more.
  template <Handler handler>
  static DROVER_NOINLINE DROVER_WALK_HANDLER(Encoder, more_room) {
    p = e->room(p, Sink::kScalarRoom, *e->entry_, 0);
    if (p == nullptr) return nullptr;
    DROVER_WALK_GO(handler);
  }

  // ---- scalars
#if DROVER_BMI2
  // Where one instruction spreads a value's bits over a varint's bytes.
  template <uint32_t kOp, int kTagSize>
  __attribute__((target("bmi2,lzcnt"))) static DROVER_WALK_HANDLER(Encoder, varint_bmi2) {
    uint64_t value = e->template load_varint<kOp>(object + step->offset);
    if (value == 0) [[unlikely]] {
      if (by_value(step)) DROVER_WALK_NEXT();
    }
    if (p < e->sink_.low()) [[unlikely]]
      DROVER_WALK_GO((more_room<varint<kOp, kTagSize>>));
    if (value < 0x80) {
      p = put_tag_and_byte<kTagSize>(e, p, step, value);
      DROVER_WALK_NEXT();
    }
    if (value < 0x4000) {
      p -= 2;
      uint16_t both = static_cast<uint16_t>((value & 0x7f) | 0x80 | (value >> 7) << 8);
      std::memcpy(p, &both, 2);
    } else if (value >> 56 == 0) [[likely]] {
      uint64_t bytes = _pdep_u64(value, 0x7f7f7f7f7f7f7f7f);
      int unused = std::countl_zero(bytes) & 0x38;  // bits in front of the last byte
      bytes = (bytes << unused) | (uint64_t{0x0080808080808080} << unused & 0x0080808080808080);
      std::memcpy(p - 8, &bytes, 8);
      p -= 8 - unused / 8;
    } else {
      DROVER_WALK_GO((varint<kOp, kTagSize>));
    }
    p = put_tag<kTagSize>(e, p, step);
    DROVER_WALK_NEXT();
  }
#endif

  template <uint32_t kOp, int kTagSize>
  static DROVER_WALK_HANDLER(Encoder, varint) {
    uint64_t value = e->template load_varint<kOp>(object + step->offset);
    if (value == 0) [[unlikely]] {
      if (by_value(step)) DROVER_WALK_NEXT();
    }
    if (p < e->sink_.low()) [[unlikely]]
      DROVER_WALK_GO((more_room<varint<kOp, kTagSize>>));
    p = put_varint<Sink>(p, value);
    p = put_tag<kTagSize>(e, p, step);
    DROVER_WALK_NEXT();
  }

  template <typename Bits, int kTagSize>
  static DROVER_WALK_HANDLER(Encoder, fixed) {
    Bits bits = e->memory_.template load<Bits>(object + step->offset);
    if (bits == 0) [[unlikely]] {
      if (by_value(step)) DROVER_WALK_NEXT();
    }
    if (p < e->sink_.low()) [[unlikely]]
      DROVER_WALK_GO((more_room<fixed<Bits, kTagSize>>));
    p -= sizeof(Bits);
    if constexpr (Sink::kWrites) std::memcpy(p, &bits, sizeof(Bits));
    p = put_tag<kTagSize>(e, p, step);
    DROVER_WALK_NEXT();
  }

  // ---- strings
  // The short ones, without a call.
  template <int kTagSize>
  static DROVER_WALK_HANDLER(Encoder, string) {
    EncodeError error = EncodeError::kOk;
    LoadedRange range;
    if (!e->memory_.load_range(object + step->offset, 1, 1, &range, &error)) [[unlikely]]
      return e->fail(error, *e->entry_, e->field_of(step).number);
    if (!Memory::kDirect || range.size > kCopiedWithoutCall || e->sink_.refers(range.size) ||
        !e->sink_.has_room(p, range.size))
      DROVER_WALK_GO(string_long<kTagSize>);
    if (range.size == 0 && by_value(step)) DROVER_WALK_NEXT();
    p -= range.size;
    if constexpr (Sink::kWrites) copy_short(p, range.data, range.size);
    p = put_tag_and_byte<kTagSize>(e, p, step, range.size);
    DROVER_WALK_NEXT();
  }
  template <int kTagSize>
  static DROVER_NOINLINE DROVER_WALK_HANDLER(Encoder, string_long) {
    EncodeError error = EncodeError::kOk;
    LoadedRange range;
    if (!e->memory_.load_range(object + step->offset, 1, 1, &range, &error)) [[unlikely]]
      return e->fail(error, *e->entry_, e->field_of(step).number);
    if (range.size == 0 && by_value(step)) DROVER_WALK_NEXT();
    bool refers = e->sink_.refers(range.size);
    if (refers) {
      p = e->sink_.refer(p, range.data, range.size);
      if (p == nullptr) [[unlikely]]
        return e->fail(e->sink_.error(), *e->entry_, e->field_of(step).number);
    }
    if (!e->sink_.has_room(p, refers ? 0 : range.size)) [[unlikely]] {
      p = e->room(p, refers ? 0 : range.size, *e->entry_, 0);
      if (p == nullptr) return nullptr;
    }
    if (!refers) {
      p -= range.size;
      e->copy_range(p, range.data, range.size);
    }
    p = put_varint<Sink>(p, range.size);
    p = put_tag<kTagSize>(e, p, step);
    DROVER_WALK_NEXT();
  }

  // ---- messages
  template <int kTagSize>
  static DROVER_WALK_HANDLER(Encoder, message) {
    const FieldEntry& field = e->field_of(step);
    const MessageEntry& sub = e->image_.message(field.sub);
    EncodeError error = EncodeError::kOk;
    const char* inner = e->memory_.load_pointer(object + step->offset, sub.object_size, &error);
    if (inner == nullptr) DROVER_WALK_GO(no_message);
    if (e->depth_ <= 0) [[unlikely]]
      return e->fail(EncodeError::kDepthLimit, *e->entry_, field.number);
    const MessageEntry* entry = e->entry_;
    size_t before = e->sink_.total(p);
    --e->depth_;
    p = whole(e, p, inner, sub);
    if (p == nullptr) [[unlikely]]
      return nullptr;
    ++e->depth_;
    e->entry_ = entry;
    size_t size = e->sink_.total(p) - before;
    if (p < e->sink_.low()) [[unlikely]] {
      p = e->room(p, Sink::kScalarRoom, *entry, field.number);
      if (p == nullptr) return nullptr;
    }
    p = put_varint<Sink>(p, size);
    p = put_tag<kTagSize>(e, p, step);
    DROVER_WALK_NEXT();
  }
  // A null pointer, or one that leaves the bounds: absent, or in a map entry the empty message.
  static DROVER_WALK_HANDLER(Encoder, no_message) {
    if constexpr (!Memory::kTrusted) {
      const FieldEntry& field = e->field_of(step);
      EncodeError error = EncodeError::kOk;
      uint32_t size = e->image_.message(field.sub).object_size;
      e->memory_.load_pointer(object + step->offset, size, &error);
      if (error != EncodeError::kOk) return e->fail(error, *e->entry_, field.number);
    }
    if (by_value(step)) [[likely]]
      DROVER_WALK_NEXT();
    p = e->room(p, Sink::kScalarRoom, *e->entry_, 0);
    if (p == nullptr) return nullptr;
    p = e->tag(put_varint<Sink>(p, 0), e->field_of(step));
    DROVER_WALK_NEXT();
  }

  struct Table {
    Handler handler[schema::kOpCount * 2];
  };
  template <int kTagSize>
  static constexpr void fill(Table* table) {
    using namespace schema;  // NOLINT: the ops' names
    Handler* to = table->handler + (kTagSize - 1);
    for (uint32_t op = 0; op < kOpCount; ++op) to[op * 2] = repeated;
    to[kOpNone * 2] = end;
    to[kOpInt32 * 2] = varint<kOpInt32, kTagSize>;
    to[kOpUint32 * 2] = varint<kOpUint32, kTagSize>;
    to[kOpVarint64 * 2] = varint<kOpVarint64, kTagSize>;
    to[kOpBool * 2] = varint<kOpBool, kTagSize>;
    to[kOpSint32 * 2] = varint<kOpSint32, kTagSize>;
    to[kOpSint64 * 2] = varint<kOpSint64, kTagSize>;
    to[kOpClosedEnum * 2] = varint<kOpClosedEnum, kTagSize>;
    to[kOpFixed32 * 2] = fixed<uint32_t, kTagSize>;
    to[kOpFixed64 * 2] = fixed<uint64_t, kTagSize>;
    to[kOpUtf8 * 2] = string<kTagSize>;
    to[kOpBytes * 2] = string<kTagSize>;
    to[kOpMessage * 2] = message<kTagSize>;
    to[kOpGroup * 2] = generic;
    to[kOpGeneric * 2] = generic;
  }
  static constexpr Table make_table() {
    Table table{};
    fill<1>(&table);
    fill<2>(&table);
    return table;
  }
  static constexpr Table kTable = make_table();
#if DROVER_BMI2
  template <int kTagSize>
  static constexpr void fill_bmi2(Table* table) {
    using namespace schema;  // NOLINT: the ops' names
    Handler* to = table->handler + (kTagSize - 1);
    to[kOpInt32 * 2] = varint_bmi2<kOpInt32, kTagSize>;
    to[kOpUint32 * 2] = varint_bmi2<kOpUint32, kTagSize>;
    to[kOpVarint64 * 2] = varint_bmi2<kOpVarint64, kTagSize>;
    to[kOpSint32 * 2] = varint_bmi2<kOpSint32, kTagSize>;
    to[kOpSint64 * 2] = varint_bmi2<kOpSint64, kTagSize>;
  }
  static constexpr Table make_bmi2_table() {
    Table table = make_table();
    fill_bmi2<1>(&table);
    fill_bmi2<2>(&table);
    return table;
  }
  static constexpr Table kBmi2Table = make_bmi2_table();
#endif
  static const Handler* table() {
#if DROVER_BMI2
    if (Sink::kWrites && cpu::has_fast_bmi2()) return kBmi2Table.handler;
#endif
    return kTable.handler;
  }
};

}  // namespace drover
