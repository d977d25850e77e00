// The preserializer's handlers, one for each op of a FieldStep and size of tag. A step's first four bytes (tag, op,
// has_bit) are also a record's first four, so that a scalar's record head is a copy. Programs that instantiate
// Preserializer<Memory, Engine> include this file.
#pragma once

#include "codec/preserialize/preserializer.h"

namespace drover {

template <typename Memory, MemcpyEngine Engine>
struct Preserializer<Memory, Engine>::Handlers : WalkHandlers<Preserializer<Memory, Engine>, Memory> {
  using Walk = WalkHandlers<Preserializer, Memory>;
  using Walk::by_value;
  using Walk::end;
  using Walk::generic;
  using Walk::repeated;
  using Walk::whole;
#if DROVER_MUSTTAIL
  using Walk::next;
#endif

  static DROVER_NOINLINE DROVER_WALK_HANDLER(Preserializer, no_room) {
    static_cast<void>(p);
    return e->fail(EncodeError::kNoRoom, *e->entry_, e->field_of(step).number);
  }
  // A record's head from the step itself; the tag's slot too, if it has one.
  template <int kTagSize>
  static DROVER_INLINE char* put_head(Preserializer* e, char* p, const FieldStep* step, uint32_t value) {
    uint32_t low;
    static_assert(offsetof(FieldStep, position) == sizeof low && offsetof(RecordHead, value) == sizeof low);
    std::memcpy(&low, step, sizeof low);
    std::memcpy(p, &low, sizeof low);
    std::memcpy(p + sizeof low, &value, sizeof value);
    p += sizeof(RecordHead);
    if constexpr (kTagSize == 2) {
      if (static_cast<uint16_t>(low) == 0) [[unlikely]]
        return long_tag(e, p, step);
    }
    return p;
  }
  static DROVER_NOINLINE char* long_tag(Preserializer* e, char* p, const FieldStep* step) {
    const FieldEntry& field = e->field_of(step);
    return put_word(p, wire::make_tag(field.number, field.wire_type));
  }

  // ---- scalars
  template <typename T, int kTagSize>
  static DROVER_WALK_HANDLER(Preserializer, scalar) {
    T value = e->memory_.template load<T>(object + step->offset);
    if (value == 0) [[unlikely]] {
      if (by_value(step)) DROVER_WALK_NEXT();
    }
    if (p > e->limit_) [[unlikely]]
      DROVER_WALK_GO(no_room);
    if constexpr (sizeof(T) == 8) {
      p = put_head<kTagSize>(e, p, step, 0);
      p = put_word(p, value);
    } else {
      p = put_head<kTagSize>(e, p, step, sizeof(T) == 1 ? value != 0 : value);
    }
    DROVER_WALK_NEXT();
  }

  // ---- strings
  template <int kTagSize>
  static DROVER_WALK_HANDLER(Preserializer, string) {
    const char* at = object + step->offset;
    uint64_t place;
    if (e->in_engine(at, &place)) [[unlikely]]
      DROVER_WALK_GO(string_in_engine);
    EncodeError error = EncodeError::kOk;
    LoadedRange range;
    if (!e->memory_.load_range(at, 1, 1, &range, &error)) [[unlikely]]
      return e->fail(error, *e->entry_, e->field_of(step).number);
    if (range.size == 0 && by_value(step)) DROVER_WALK_NEXT();
    if (range.size >= e->reference_from_) DROVER_WALK_GO(long_string);
    bool body = range.size < e->options_.payload_threshold;
    if (!e->has_room(p, body ? range.size : 0)) [[unlikely]]
      DROVER_WALK_GO(no_room);
    char* head = p;
    p = put_head<kTagSize>(e, p, step, range.size);
    if (body) {
      p = e->put_body(p, range.data, range.size);
    } else {
      head[offsetof(RecordHead, op)] = static_cast<char>(kRecordPayload << RecordOpByte::kCodeShift | (kTagSize - 1));
      if (!e->put_payload(p, range.data, range.size)) [[unlikely]]
        DROVER_WALK_GO(no_room);
    }
    DROVER_WALK_NEXT();
  }
  // One that may be referred to.
  static DROVER_NOINLINE DROVER_WALK_HANDLER(Preserializer, long_string) {
    const MessageEntry* entry = e->entry_;
    p = e->string(p, object + step->offset, *entry, e->field_of(step));
    if (p == nullptr) return nullptr;
    DROVER_WALK_NEXT();
  }
  static DROVER_NOINLINE DROVER_WALK_HANDLER(Preserializer, string_in_engine) {
    const char* at = object + step->offset;
    uint64_t place = 0;
    e->in_engine(at, &place);
    uint32_t size = e->memory_.template load<uint32_t>(at + offsetof(raw::Words, size));
    if (size == 0 && by_value(step)) DROVER_WALK_NEXT();
    p = e->engine_bytes(p, place, size, e->field_of(step).number, *e->entry_);
    if (p == nullptr) return nullptr;
    DROVER_WALK_NEXT();
  }

  // ---- messages
  template <int kTagSize>
  static DROVER_WALK_HANDLER(Preserializer, message) {
    const FieldEntry& field = e->field_of(step);
    const MessageEntry& sub = e->image_.message(field.sub);
    EncodeError error = EncodeError::kOk;
    const char* inner = e->memory_.load_pointer(object + step->offset, sub.object_size, &error);
    if (inner == nullptr) DROVER_WALK_GO(no_message);
    if (e->depth_ <= 0) [[unlikely]]
      return e->fail(EncodeError::kDepthLimit, *e->entry_, field.number);
    if (p > e->limit_) [[unlikely]]
      DROVER_WALK_GO(no_room);
    const MessageEntry* entry = e->entry_;
    p = put(p, 0, kRecordClose << RecordOpByte::kCodeShift, 0);
    --e->depth_;
    p = whole(e, p, inner, sub);
    if (p == nullptr) [[unlikely]]
      return nullptr;
    ++e->depth_;
    e->entry_ = entry;
    if (p > e->limit_) [[unlikely]]
      DROVER_WALK_GO(no_room);
    p = put_head<kTagSize>(e, p, step, 0);
    DROVER_WALK_NEXT();
  }
  // A null pointer, or one that leaves the bounds: absent, or in a map entry the empty message.
  static DROVER_NOINLINE DROVER_WALK_HANDLER(Preserializer, no_message) {
    p = e->generic(p, object, *e->entry_, e->field_of(step));
    if (p == nullptr) return nullptr;
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
    for (uint32_t op = kOpInt32; op <= kOpClosedEnum; ++op) to[op * 2] = scalar<uint32_t, kTagSize>;
    to[kOpVarint64 * 2] = scalar<uint64_t, kTagSize>;
    to[kOpSint64 * 2] = scalar<uint64_t, kTagSize>;
    to[kOpFixed64 * 2] = scalar<uint64_t, kTagSize>;
    to[kOpBool * 2] = scalar<uint8_t, kTagSize>;
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

template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::message(char* p, const char* object, const MessageEntry& entry) {
  return Handlers::whole(this, p, object, entry);
}

}  // namespace drover
