// Preserializer<Memory, Engine>: walks an object as the encoder does (codec/encode/object_walk.h), and writes the
// pre-serialized stream (codec/preserialize/preserialize_types.h). Memory says how the object is read
// (codec/encode/encode_memory.h), Engine who copies long strings (codec/copy/memcpy_engine.h). Freestanding.
//
// Every writing function takes the position at which the next record goes, and returns the new one, or null after
// fail(). What lies in front of limit_ has room for any record without a body.
#pragma once

#include "codec/copy/memcpy_engine.h"
#include "codec/encode/encode_sink.h"
#include "codec/encode/object_walk.h"
#include "codec/preserialize/preserialize_types.h"
#include "codec/wire.h"

namespace drover {

template <typename Memory, MemcpyEngine Engine>
class Preserializer : public ObjectWalk<Preserializer<Memory, Engine>, Memory, PreserializeOptions> {
  using Walk = ObjectWalk<Preserializer, Memory, PreserializeOptions>;

 public:
  using typename Walk::FieldEntry;
  using typename Walk::FieldStep;
  using typename Walk::Handler;
  using typename Walk::MessageEntry;

  static_assert(Memory::kDirect);

  Preserializer(const schema::Image& image, Memory memory, Engine& engine, const PreserializeOptions& options,
                PreserializedOutput* out)
      : Walk(image, memory, options),
        engine_(engine),
        out_(*out),
        payload_(out->buffer + out->buffer_size),
        reference_from_(options.host.size == 0 ? SIZE_MAX : options.reference_from) {
    set_limit();
  }

  // All fields of the object, which Memory has checked to lie where object_size bytes may be read; false: error().
  bool run(const char* object, const MessageEntry& entry) {
    if (out_.buffer_size < kRoom) return fail(EncodeError::kNoRoom, entry, 0), false;
    char* p = message(out_.buffer, object, entry);
    if (p != nullptr) p = room(p, 0, entry, 0);
    if (p == nullptr) return false;
    p = put(p, 0, kRecordEnd << RecordOpByte::kCodeShift, 0);
    out_.record_bytes = static_cast<size_t>(p - out_.buffer);
    out_.payload_bytes = static_cast<size_t>(out_.buffer + out_.buffer_size - payload_);
    return true;
  }

 private:
  friend Walk;
  friend struct WalkHandlers<Preserializer, Memory>;
  using Walk::depth_;
  using Walk::entry_;
  using Walk::fail;
  using Walk::image_;
  using Walk::memory_;
  using Walk::options_;

  static constexpr size_t kRoom = 32;  // head, tag, value, and a slot to spare

  // `payload_` has moved, or is to be checked for the first time.
  void set_limit() { limit_ = static_cast<size_t>(payload_ - out_.buffer) < kRoom ? nullptr : payload_ - kRoom; }
  bool has_room(const char* p, size_t n) const { return p <= limit_ && static_cast<size_t>(limit_ - p) >= n; }
  char* room(char* p, size_t n, const MessageEntry& entry, uint32_t field) {
    return has_room(p, n) ? p : fail(EncodeError::kNoRoom, entry, field);
  }

  // ---- records
  static DROVER_INLINE char* put(char* p, uint32_t tag, uint32_t op, uint32_t value) {
    RecordHead head{static_cast<uint16_t>(tag), static_cast<uint8_t>(op), 0, value};
    std::memcpy(p, &head, sizeof head);
    return p + sizeof head;
  }
  // A field's tag, of any length, with an op and a value.
  static char* put_tagged(char* p, uint32_t number, uint32_t wire_type, uint32_t op, uint32_t value) {
    uint32_t tag = wire::make_tag(number, wire_type);
    if (number < 16) return put(p, tag, op << RecordOpByte::kCodeShift, value);
    uint32_t op_byte = op << RecordOpByte::kCodeShift | RecordOpByte::kLongTagMask;
    if (number < schema::kMaxSlots) return put(p, (tag & 0x7f) | 0x80 | (tag >> 7) << 8, op_byte, value);
    p = put(p, 0, op_byte, value);
    uint64_t slot = tag;
    std::memcpy(p, &slot, 8);
    return p + 8;
  }
  static char* put_word(char* p, uint64_t word) {
    std::memcpy(p, &word, 8);
    return p + 8;
  }
  // Bytes among the records, padded with zeros.
  DROVER_INLINE char* put_body(char* p, const char* data, size_t size) {
    if (size == 0) return p;
    size_t slots = (size + 7) / 8;
    std::memset(p + slots * 8 - 8, 0, 8);
    copy_bytes(p, data, size);
    return p + slots * 8;
  }
  // Bytes to payload. False: no room.
  bool put_payload(const char* p, const char* data, size_t size) {
    if (!has_room(p, size)) return false;
    payload_ -= size;
    set_limit();
    engine_.copy(payload_, data, size);
    return true;
  }
  bool in_host(const char* data, size_t size) const {
    return size >= reference_from_ && options_.host.holds(reinterpret_cast<uintptr_t>(data), size);
  }
  // Bytes as a reference, as payload or among the records.
  char* bytes(char* p, const char* data, size_t size, uint32_t number, bool raw, const MessageEntry& entry) {
    bool refer = in_host(data, size), inline_body = !refer && size < options_.payload_threshold;
    p = room(p, inline_body ? size : 0, entry, number);
    if (p == nullptr) return nullptr;
    uint32_t op = refer         ? (raw ? kRecordRawHost : kRecordHost)
                  : inline_body ? (raw ? kRecordRawInline : kRecordInline)
                                : (raw ? kRecordRawPayload : kRecordPayload);
    p = raw ? put(p, 0, op << RecordOpByte::kCodeShift, static_cast<uint32_t>(size))
            : put_tagged(p, number, wire::kLengthDelimited, op, static_cast<uint32_t>(size));
    if (refer) return put_word(p, reinterpret_cast<uintptr_t>(data) - options_.host.base);
    if (inline_body) return put_body(p, data, size);
    return put_payload(p, data, size) ? p : fail(EncodeError::kNoRoom, entry, number);
  }
  // Bytes of a String or packed array at `at` that lie in the engine's memory; false: they do not.
  DROVER_INLINE bool in_engine(const char* at, uint64_t* place) const {
    if (options_.engine.size == 0) [[likely]]
      return false;
    uint64_t target = reinterpret_cast<uintptr_t>(at) + static_cast<uint64_t>(memory_.template load<int64_t>(at));
    *place = target - options_.engine.base;
    return options_.engine.holds(target);
  }
  char* engine_bytes(char* p, uint64_t place, uint64_t size, uint32_t number, const MessageEntry& entry) {
    p = room(p, 0, entry, number);
    if (p == nullptr) return nullptr;
    if (size > wire::kMaxMessage) return fail(EncodeError::kTooLarge, entry, number);
    return put_word(put_tagged(p, number, wire::kLengthDelimited, kRecordEngine, static_cast<uint32_t>(size)), place);
  }

  // ---- what the walk asks for (codec/encode/object_walk.h; preserialize_handlers.h)
  struct Handlers;
  static const Handler* handlers() { return Handlers::kTable.handler; }
  uint64_t written(const char* p) const {
    return static_cast<uint64_t>(p - out_.buffer) + static_cast<uint64_t>(out_.buffer + out_.buffer_size - payload_);
  }
  char* unknown_bytes(char* p, const char* data, size_t size, const MessageEntry& entry) {
    return bytes(p, data, size, 0, true, entry);
  }
  char* empty_message(char* p, const MessageEntry& entry, const FieldEntry& field) {
    return bytes(p, nullptr, 0, field.number, false, entry);
  }
  char* message(char* p, const char* object, const MessageEntry& entry);

  // ---- by the field's entry
  char* value(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field);
  char* string(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field);
  char* scalar(char* p, const char* at, const FieldEntry& field) const;
  char* sub_message(char* p, const char* object, const MessageEntry& sub, const MessageEntry& entry,
                    const FieldEntry& field);
  char* repeated(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field);
  char* packed(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  char* packed_bools(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  template <typename T>
  char* elements(char* p, LoadedRange range, uint32_t op, const MessageEntry& entry, const FieldEntry& field);

  Engine& engine_;
  PreserializedOutput& out_;
  char* payload_;  // the payload's first byte so far
  char* limit_;    // up to here records have room; null: nowhere
  const size_t reference_from_;
};

template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::value(char* p, const char* at, const MessageEntry& entry,
                                           const FieldEntry& field) {
  if (schema::is_string_kind(field.kind)) return string(p, at, entry, field);
  p = room(p, 0, entry, field.number);
  return p == nullptr ? nullptr : scalar(p, at, field);
}

template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::string(char* p, const char* at, const MessageEntry& entry,
                                            const FieldEntry& field) {
  uint64_t place;
  if (in_engine(at, &place)) {
    return engine_bytes(p, place, memory_.template load<uint32_t>(at + offsetof(raw::Words, size)), field.number,
                        entry);
  }
  EncodeError error = EncodeError::kOk;
  LoadedRange range;
  if (!memory_.load_range(at, 1, 1, &range, &error)) return fail(error, entry, field.number);
  return bytes(p, range.data, range.size, field.number, false, entry);
}

// The caller has asked for room.
template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::scalar(char* p, const char* at, const FieldEntry& field) const {
  uint32_t op = schema::op_class(field.kind, false, false);
  switch (schema::kStorageOfKind[field.kind]) {
    case 1:
      return put_tagged(p, field.number, field.wire_type, op, memory_.template load<uint8_t>(at) != 0);
    case 4:
      return put_tagged(p, field.number, field.wire_type, op, memory_.template load<uint32_t>(at));
    default:
      return put_word(put_tagged(p, field.number, field.wire_type, op, 0), memory_.template load<uint64_t>(at));
  }
}

template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::sub_message(char* p, const char* object, const MessageEntry& sub,
                                                 const MessageEntry& entry, const FieldEntry& field) {
  if (depth_ <= 0) return fail(EncodeError::kDepthLimit, entry, field.number);
  --depth_;
  bool group = static_cast<schema::Kind>(field.kind) == schema::Kind::kGroup;
  p = room(p, 0, entry, field.number);
  if (p == nullptr) return nullptr;
  p = group ? put_tagged(p, field.number, wire::kEndGroup, kRecordTag, 0)
            : put(p, 0, kRecordClose << RecordOpByte::kCodeShift, 0);
  p = message(p, object, sub);
  if (p != nullptr) p = room(p, 0, entry, field.number);
  if (p == nullptr) return nullptr;
  ++depth_;
  return put_tagged(p, field.number, field.wire_type, group ? kRecordTag : kRecordOpen, 0);
}

// Elements in the engine's memory become a reference; others are written as the walk does.
template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::repeated(char* p, const char* object, const MessageEntry& entry,
                                              const FieldEntry& field) {
  const char* at = object + field.offset;
  uint64_t place;
  if ((field.flags & schema::kFieldFlagPacked) != 0 && field.wire_type != wire::kVarint && in_engine(at, &place)) {
    uint64_t size =
        uint64_t{memory_.template load<uint32_t>(at + offsetof(raw::Words, size))} * schema::kStorageOfKind[field.kind];
    return engine_bytes(p, place, size, field.number, entry);
  }
  return Walk::repeated(p, object, entry, field);
}

template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::packed(char* p, LoadedRange range, const MessageEntry& entry,
                                            const FieldEntry& field) {
  uint32_t storage = schema::kStorageOfKind[field.kind];
  if (field.wire_type != wire::kVarint) {
    uint64_t size = uint64_t{range.size} * storage;
    if (size > wire::kMaxMessage) return fail(EncodeError::kTooLarge, entry, field.number);
    return bytes(p, range.data, static_cast<size_t>(size), field.number, false, entry);
  }
  if (storage == 1) return packed_bools(p, range, entry, field);
  uint32_t op = schema::op_class(field.kind, false, false);
  return storage == 4 ? elements<uint32_t>(p, range, op, entry, field) : elements<uint64_t>(p, range, op, entry, field);
}

// A bool's varint is one byte: bytes among the records, made 0 or 1.
template <typename Memory, MemcpyEngine Engine>
char* Preserializer<Memory, Engine>::packed_bools(char* p, LoadedRange range, const MessageEntry& entry,
                                                  const FieldEntry& field) {
  size_t padded = (size_t{range.size} + 7) / 8 * 8;
  p = room(p, padded, entry, field.number);
  if (p == nullptr) return nullptr;
  p = put_tagged(p, field.number, wire::kLengthDelimited, kRecordInline, range.size);
  std::memset(p + padded - 8, 0, 8);
  for (uint32_t i = 0; i < range.size; ++i) p[i] = memory_.template load<uint8_t>(range.data + i) != 0 ? 1 : 0;
  return p + padded;
}

// The elements of a packed field, last first.
template <typename Memory, MemcpyEngine Engine>
template <typename T>
char* Preserializer<Memory, Engine>::elements(char* p, LoadedRange range, uint32_t op, const MessageEntry& entry,
                                              const FieldEntry& field) {
  size_t padded = (size_t{range.size} * sizeof(T) + 7) / 8 * 8;
  p = room(p, padded + 8, entry, field.number);
  if (p == nullptr) return nullptr;
  p = put(p, 0, kRecordClose << RecordOpByte::kCodeShift, 0);
  p = put(p, op, kRecordElements << RecordOpByte::kCodeShift, range.size);
  std::memset(p + padded - 8, 0, 8);
  const char* from = range.data + size_t{range.size} * sizeof(T);
  for (size_t i = 0; i < range.size; ++i) {
    from -= sizeof(T);
    T value = memory_.template load<T>(from);
    std::memcpy(p + i * sizeof(T), &value, sizeof(T));
  }
  p = room(p + padded, 0, entry, field.number);
  return p == nullptr ? nullptr : put_tagged(p, field.number, wire::kLengthDelimited, kRecordOpen, 0);
}

}  // namespace drover
