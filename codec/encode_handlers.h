// The encoder's handlers: one for each op of a FieldStep and size of tag. `step` is the one at hand, `has` the object's
// has-bits, with those bits set that stand for "always" and "unless zero".
#pragma once

#include "codec/encoder.h"

namespace drover {

#define DROVER_HANDLER(name)                                                                                   \
  DROVER_HANDLER_CALL char* name(Encoder* e, char* p, const char* object, const FieldStep* step, uint64_t has, \
                                 const void* table)
#if DROVER_MUSTTAIL
#define DROVER_GO(handler) [[clang::musttail]] return handler(e, p, object, step, has, table)
#define DROVER_NEXT() DROVER_GO(next)
#else
#define DROVER_GO(handler) return handler(e, p, object, step, has, table)
#define DROVER_NEXT() return p
#endif

template <typename Memory, typename Sink>
struct Encoder<Memory, Sink>::Handlers {
  // All fields of an object, which Memory has checked to lie where object_size bytes may be read.
  static DROVER_INLINE char* whole(Encoder* e, char* p, const char* object, const MessageEntry& entry) {
    if constexpr (!Memory::kTrusted) {
      if (!e->may_go_on(p, entry)) return nullptr;
    }
    uint64_t has = e->first_has_bits(object, entry);
    bool unknown = e->memory_.template load<int64_t>(object + offsetof(MessageHeader, unknown)) != 0;
    if (unknown || e->check_required_) [[unlikely]] {
      p = e->begin_slow(p, object, entry, has);
      if (p == nullptr) return nullptr;
    }
    e->entry_ = &entry;
    return run(e, p, object, e->image_.steps(entry) + entry.field_count, has);
  }

  // The fields of the steps before `step`.
  static DROVER_INLINE char* run(Encoder* e, char* p, const char* object, const FieldStep* step, uint64_t has) {
#if DROVER_MUSTTAIL
    return begin(e, p, object, step, has, kTable.handler);
#else
    for (;;) {
      do {
        --step;
      } while ((has >> (step->has_bit & 63) & 1) == 0);
      if (step->op == schema::kOpNone) return p;
      p = kTable.handler[step->op](e, p, object, step, has, nullptr);
      if (p == nullptr) return nullptr;
    }
#endif
  }

#if DROVER_MUSTTAIL
  static DROVER_INLINE DROVER_HANDLER(next) {
    do {
      --step;
    } while ((has >> (step->has_bit & 63) & 1) == 0);
    Handler handler = static_cast<const Handler*>(table)[step->op];
    DROVER_GO(handler);
  }
  static DROVER_HANDLER(begin) { DROVER_NEXT(); }
#endif
  static DROVER_HANDLER(end) {
    (void)e, (void)object, (void)step, (void)has, (void)table;
    return p;
  }

  // ---- a step's parts
  static DROVER_INLINE bool by_value(const FieldStep* step) { return step->has_bit == schema::kStepByValue; }
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
  // Nothing is written for a zero whose absence means the same.
  template <Handler handler>
  static DROVER_NOINLINE DROVER_HANDLER(zero) {
    if (by_value(step)) DROVER_NEXT();
    DROVER_GO(handler);
  }
  // A new block; then once more.
  template <Handler handler>
  static DROVER_NOINLINE DROVER_HANDLER(more_room) {
    p = e->room(p, Sink::kScalarRoom, *e->entry_, 0);
    if (p == nullptr) return nullptr;
    DROVER_GO(handler);
  }

  // ---- scalars
  template <uint32_t kOp, int kTagSize, bool kZeroToo = false>
  static DROVER_HANDLER(varint) {
    uint64_t value = e->template load_varint<kOp>(object + step->offset);
    if (!kZeroToo && value == 0) [[unlikely]]
      DROVER_GO((zero<varint<kOp, kTagSize, true>>));
    if (p < e->sink_.low()) [[unlikely]]
      DROVER_GO((more_room<varint<kOp, kTagSize, true>>));
    p = put_varint<Sink>(p, value);
    p = put_tag<kTagSize>(e, p, step);
    DROVER_NEXT();
  }

  template <typename Bits, int kTagSize, bool kZeroToo = false>
  static DROVER_HANDLER(fixed) {
    Bits bits = e->memory_.template load<Bits>(object + step->offset);
    if (!kZeroToo && bits == 0) [[unlikely]]
      DROVER_GO((zero<fixed<Bits, kTagSize, true>>));
    if (p < e->sink_.low()) [[unlikely]]
      DROVER_GO((more_room<fixed<Bits, kTagSize, true>>));
    p -= sizeof(Bits);
    if constexpr (Sink::kWrites) std::memcpy(p, &bits, sizeof(Bits));
    p = put_tag<kTagSize>(e, p, step);
    DROVER_NEXT();
  }

  // ---- strings
  template <int kTagSize>
  static DROVER_HANDLER(string) {
    EncodeError error = EncodeError::ok;
    LoadedRange range;
    if (!e->memory_.load_range(object + step->offset, 1, 1, &range, &error)) [[unlikely]]
      return e->fail(error, *e->entry_, e->field_of(step).number);
    if (range.size == 0 && by_value(step)) DROVER_NEXT();
    if (range.size > kCopiedHere || !e->sink_.has_room(p, range.size + Sink::kScalarRoom)) [[unlikely]] {
      p = e->string(p, range, *e->entry_, e->field_of(step));
      if (p == nullptr) return nullptr;
      DROVER_NEXT();
    }
    p -= range.size;
    if constexpr (Sink::kWrites) copy_bytes(p, range.data, range.size);
    p = put_varint<Sink>(p, range.size);
    p = put_tag<kTagSize>(e, p, step);
    DROVER_NEXT();
  }
  // Longer ones are copied by memcpy, or referred to.
  static constexpr uint32_t kCopiedHere = 128;

  // ---- messages
  template <int kTagSize>
  static DROVER_HANDLER(message) {
    const FieldEntry& field = e->field_of(step);
    const MessageEntry& sub = e->image_.message(field.sub);
    EncodeError error = EncodeError::ok;
    const char* inner = e->memory_.load_pointer(object + step->offset, sub.object_size, &error);
    if (inner == nullptr) DROVER_GO(no_message);
    if (e->depth_ <= 0) [[unlikely]]
      return e->fail(EncodeError::depth_limit, *e->entry_, field.number);
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
    DROVER_NEXT();
  }
  // A null pointer, or one that leads astray: absent, or in a map entry the empty message.
  static DROVER_HANDLER(no_message) {
    if constexpr (!Memory::kTrusted) {
      const FieldEntry& field = e->field_of(step);
      EncodeError error = EncodeError::ok;
      uint32_t size = e->image_.message(field.sub).object_size;
      e->memory_.load_pointer(object + step->offset, size, &error);
      if (error != EncodeError::ok) return e->fail(error, *e->entry_, field.number);
    }
    if (by_value(step)) [[likely]]
      DROVER_NEXT();
    p = e->room(p, Sink::kScalarRoom, *e->entry_, 0);
    if (p == nullptr) return nullptr;
    p = e->tag(put_varint<Sink>(p, 0), e->field_of(step));
    DROVER_NEXT();
  }

  // ---- by the field's entry
  static DROVER_HANDLER(generic) {
    const MessageEntry* entry = e->entry_;
    p = e->generic(p, object, *entry, e->field_of(step));
    if (p == nullptr) return nullptr;
    e->entry_ = entry;
    DROVER_NEXT();
  }
  static DROVER_HANDLER(repeated) {
    if (e->memory_.template load<uint32_t>(object + step->offset + 8) == 0) DROVER_NEXT();
    const MessageEntry* entry = e->entry_;
    p = e->repeated(p, object, *entry, e->field_of(step));
    if (p == nullptr) return nullptr;
    e->entry_ = entry;
    DROVER_NEXT();
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
};

#undef DROVER_GO
#undef DROVER_NEXT
#undef DROVER_HANDLER

}  // namespace drover
