// Encoder<Memory, Sink>: the encoder itself, private to codec/. Memory says how the object is read
// (codec/encode_memory.h), Sink where the bytes go (codec/encode_sink.h). It follows a message's steps
// (docs/formats.md, FieldStep) from the last to the first, and so elements. Every writing function takes the position
// in front of which it writes, and returns the new one, or null after fail().
#pragma once

#include "codec/compiler.h"
#include "codec/encode_memory.h"
#include "codec/encode_sink.h"
#include "codec/presence.h"
#include "codec/wire.h"
#include "object/owner.h"
#include "schema/image.h"

namespace drover {

template <typename Memory, typename Sink>
class Encoder {
 public:
  using FieldEntry = schema::FieldEntry;
  using FieldStep = schema::FieldStep;
  using MessageEntry = schema::MessageEntry;
  using Kind = schema::Kind;

  // The sink is made from what stands behind the options.
  template <typename... SinkArguments>
  Encoder(const schema::Image& image, Memory memory, const EncodeOptions& options, SinkArguments&&... sink)
      : sink_(static_cast<SinkArguments&&>(sink)...),
        image_(image),
        memory_(memory),
        options_(options),
        depth_(options.depth_limit) {}
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  Sink& sink() { return sink_; }

  // All fields of the object, which Memory has checked to lie where object_size bytes may be read.
  char* message(char* p, const char* object, const MessageEntry& entry);

  EncodeError error() const { return error_; }
  // With an error: where.
  const MessageEntry& error_message() const { return *error_message_; }
  uint32_t error_field() const { return error_field_; }

 private:
  // A hostile object may show the same sub-objects again and again: fields looked at, beyond the allowance, are bounded
  // by the output.
  static constexpr uint64_t kWorkPerByte = 4;
  static constexpr size_t kTagRoom = 5, kVarintRoom = 10;
  static_assert(kTagRoom + kVarintRoom <= Sink::kScalarRoom);

  char* fail(EncodeError error, const MessageEntry& entry, uint32_t field) {
    if (error_ == EncodeError::ok) {
      error_ = error;
      error_message_ = &entry;
      error_field_ = field;
    }
    return nullptr;
  }
  char* room(char* p, size_t n, const MessageEntry& entry, uint32_t field) {
    p = sink_.room(p, n);
    return p != nullptr ? p : fail(sink_.error(), entry, field);
  }
  // What a LoadedRange refers to.
  DROVER_INLINE void copy_range(char* to, const char* from, size_t size) {
    if constexpr (Sink::kWrites && Memory::kDirect) {
      copy_bytes(to, from, size);
    } else if constexpr (Sink::kWrites) {
      memory_.copy(to, from, size);
    }
  }
  static char* tag(char* p, const FieldEntry& field) { return number_tag(p, field.number, field.wire_type); }
  static char* number_tag(char* p, uint32_t number, uint32_t wire_type) {
    return put_varint<Sink>(p, wire::make_tag(number, wire_type));
  }

  // ---- handlers (encode_handlers.h)
  using Handler = char*(DROVER_HANDLER_CALL*)(Encoder*, char*, const char*, const FieldStep*, uint64_t, const void*);
  struct Handlers;

  // ---- by the field's entry
  bool may_go_on(const char* p, const MessageEntry& entry);
  char* begin_slow(char* p, const char* object, const MessageEntry& entry, uint64_t has);
  char* unknown(char* p, const char* object, const MessageEntry& entry);
  char* blob(char* p, const char* data, size_t size, const MessageEntry& entry, uint32_t field);
  char* generic(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field);
  char* value(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field);
  char* string(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  char* sub_message(char* p, const char* object, const MessageEntry& sub, const MessageEntry& entry,
                    const FieldEntry& field);
  char* repeated(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field);
  char* repeated_messages(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  char* repeated_strings(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  char* packed(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  char* scalar(char* p, const char* at, const FieldEntry& field) const;
  uint64_t varint_of(const char* at, uint8_t kind) const;

  template <uint32_t kOp>
  DROVER_INLINE uint64_t load_varint(const char* at) const {
    if constexpr (kOp == schema::kOpBool) {
      return memory_.template load<uint8_t>(at) != 0;
    } else if constexpr (kOp == schema::kOpInt32 || kOp == schema::kOpClosedEnum) {
      return static_cast<uint64_t>(int64_t{memory_.template load<int32_t>(at)});
    } else if constexpr (kOp == schema::kOpSint32) {
      return static_cast<uint32_t>(wire::zigzag(memory_.template load<int32_t>(at)));
    } else if constexpr (kOp == schema::kOpSint64) {
      return wire::zigzag(memory_.template load<int64_t>(at));
    } else if constexpr (kOp == schema::kOpUint32) {
      return memory_.template load<uint32_t>(at);
    } else {
      return memory_.template load<uint64_t>(at);
    }
  }

  const FieldEntry& field_of(const FieldStep* step) const { return image_.fields(*entry_).first[step->position - 1]; }

  Sink sink_;
  const schema::Image image_;
  Memory memory_;
  const MessageEntry* entry_;  // the innermost message
  const Handler* handlers_ = Handlers::table();
  const EncodeOptions& options_;
  int depth_;
  EncodeError error_ = EncodeError::ok;
  uint32_t error_field_;               // with an error
  const MessageEntry* error_message_;  // with an error
  uint64_t work_ = 0;                  // fields looked at; with bounds only
};

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::message(char* p, const char* object, const MessageEntry& entry) {
  return Handlers::whole(this, p, object, entry);
}

// Fields looked at are charged against what has been written so far, not against what may be: a small object that shows
// itself over and over ends soon, whatever max_bytes is.
template <typename Memory, typename Sink>
DROVER_INLINE bool Encoder<Memory, Sink>::may_go_on(const char* p, const MessageEntry& entry) {
  work_ += entry.field_count;
  if (work_ <= options_.work_allowance || work_ - options_.work_allowance <= kWorkPerByte * uint64_t{sink_.total(p)})
      [[likely]]
    return true;
  return fail(EncodeError::too_much_work, entry, 0), false;
}

// What comes before an object's fields: its unknown ones (written from the end), and whether the required ones are
// there.
template <typename Memory, typename Sink>
DROVER_NOINLINE char* Encoder<Memory, Sink>::begin_slow(char* p, const char* object, const MessageEntry& entry,
                                                        uint64_t has) {
  if (options_.check_required && entry.required_count != 0) {
    const FieldEntry* missing = presence::missing_required(image_, memory_, object, entry, has);
    if (missing != nullptr) return fail(EncodeError::missing_required, entry, missing->number);
  }
  return unknown(p, object, entry);
}

template <typename Memory, typename Sink>
DROVER_NOINLINE char* Encoder<Memory, Sink>::unknown(char* p, const char* object, const MessageEntry& entry) {
  LoadedRange range;
  EncodeError error = presence::load_unknown(memory_, object, &range);
  if (error != EncodeError::ok) return fail(error, entry, 0);
  return range.size == 0 ? p : blob(p, range.data, range.size, entry, 0);
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::blob(char* p, const char* data, size_t size, const MessageEntry& entry, uint32_t field) {
  if (sink_.refers(size)) {
    p = sink_.refer(p, data, size);
    return p != nullptr ? p : fail(sink_.error(), entry, field);
  }
  p = room(p, size, entry, field);
  if (p == nullptr) return nullptr;
  p -= size;
  copy_range(p, data, size);
  return p;
}

// A singular field whose presence its step cannot say, or a group.
template <typename Memory, typename Sink>
DROVER_NOINLINE char* Encoder<Memory, Sink>::generic(char* p, const char* object, const MessageEntry& entry,
                                                     const FieldEntry& field) {
  const char* at = object + field.offset;
  if (field.label != schema::kLabelSingular) {
    return memory_.template load<uint32_t>(at + 8) == 0 ? p : repeated(p, object, entry, field);
  }
  bool by_pointer = schema::is_message_kind(field.kind);
  bool map_entry = (entry.flags & schema::kMessageFlagMapEntry) != 0;
  if (field.case_offset != 0) {
    if (memory_.template load<uint32_t>(object + field.case_offset) != field.number) return p;
  } else if (field.has_bit != schema::kNoHasBit) {
    if (!presence::far_has_bit(memory_, object, field)) return p;
  } else if (!by_pointer && !map_entry && presence::is_zero(memory_, at, field)) {
    return p;
  }
  if (!by_pointer) return value(p, at, entry, field);
  const MessageEntry& sub = image_.message(field.sub);
  EncodeError error = EncodeError::ok;
  const char* inner = memory_.load_pointer(at, sub.object_size, &error);
  if (inner != nullptr) return sub_message(p, inner, sub, entry, field);
  if (error != EncodeError::ok) return fail(error, entry, field.number);
  if (!map_entry) return p;
  p = room(p, kTagRoom + 1, entry, field.number);  // an entry's unset value: the empty message
  return p == nullptr ? nullptr : tag(put_varint<Sink>(p, 0), field);
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::value(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field) {
  if (schema::is_string_kind(field.kind)) {
    EncodeError error = EncodeError::ok;
    LoadedRange range;
    if (!memory_.load_range(at, 1, 1, &range, &error)) return fail(error, entry, field.number);
    return string(p, range, entry, field);
  }
  p = room(p, kTagRoom + kVarintRoom, entry, field.number);
  return p == nullptr ? nullptr : scalar(p, at, field);
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::scalar(char* p, const char* at, const FieldEntry& field) const {
  if (field.wire_type == wire::kVarint) {
    p = put_varint<Sink>(p, varint_of(at, field.kind));
  } else if (field.wire_type == wire::kFixed64) {
    uint64_t bits = memory_.template load<uint64_t>(at);
    p = put_bytes<Sink>(p, &bits, 8);
  } else {
    uint32_t bits = memory_.template load<uint32_t>(at);
    p = put_bytes<Sink>(p, &bits, 4);
  }
  return tag(p, field);
}

template <typename Memory, typename Sink>
DROVER_INLINE uint64_t Encoder<Memory, Sink>::varint_of(const char* at, uint8_t kind) const {
  switch (static_cast<Kind>(kind)) {
    case Kind::kBool:
      return load_varint<schema::kOpBool>(at);
    case Kind::kInt32:
    case Kind::kEnum:
      return load_varint<schema::kOpInt32>(at);
    case Kind::kSint32:
      return load_varint<schema::kOpSint32>(at);
    case Kind::kSint64:
      return load_varint<schema::kOpSint64>(at);
    case Kind::kUint32:
      return load_varint<schema::kOpUint32>(at);
    default:
      return load_varint<schema::kOpVarint64>(at);
  }
}

template <typename Memory, typename Sink>
DROVER_NOINLINE char* Encoder<Memory, Sink>::string(char* p, LoadedRange range, const MessageEntry& entry,
                                                    const FieldEntry& field) {
  p = blob(p, range.data, range.size, entry, field.number);
  if (p != nullptr) p = room(p, kTagRoom + kVarintRoom, entry, field.number);
  return p == nullptr ? nullptr : tag(put_varint<Sink>(p, range.size), field);
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::sub_message(char* p, const char* object, const MessageEntry& sub,
                                         const MessageEntry& entry, const FieldEntry& field) {
  if (depth_ <= 0) return fail(EncodeError::depth_limit, entry, field.number);
  --depth_;
  bool group = static_cast<Kind>(field.kind) == Kind::kGroup;
  if (group) {
    p = room(p, kTagRoom, entry, field.number);
    if (p == nullptr) return nullptr;
    p = number_tag(p, field.number, wire::kEndGroup);
  }
  size_t before = sink_.total(p);
  p = message(p, object, sub);
  if (p == nullptr) return nullptr;
  size_t size = sink_.total(p) - before;
  p = room(p, kTagRoom + kVarintRoom, entry, field.number);
  if (p == nullptr) return nullptr;
  ++depth_;
  if (!group) p = put_varint<Sink>(p, size);
  return tag(p, field);
}

template <typename Memory, typename Sink>
DROVER_NOINLINE char* Encoder<Memory, Sink>::repeated(char* p, const char* object, const MessageEntry& entry,
                                                      const FieldEntry& field) {
  const char* at = object + field.offset;
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  EncodeError error = EncodeError::ok;
  LoadedRange range;
  uint32_t alignment = element_size > 8 ? 8 : element_size;
  if (!memory_.load_range(at, element_size, alignment, &range, &error)) return fail(error, entry, field.number);
  if (range.size == 0) return p;
  if (schema::is_message_kind(field.kind)) return repeated_messages(p, range, entry, field);
  if (schema::is_string_kind(field.kind)) return repeated_strings(p, range, entry, field);
  if ((field.flags & schema::kFieldFlagPacked) != 0) return packed(p, range, entry, field);
  for (uint32_t i = range.size; i-- > 0;) {
    p = room(p, kTagRoom + kVarintRoom, entry, field.number);
    if (p == nullptr) return nullptr;
    p = scalar(p, range.data + size_t{i} * element_size, field);
  }
  return p;
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::repeated_messages(char* p, LoadedRange range, const MessageEntry& entry,
                                               const FieldEntry& field) {
  const MessageEntry& sub = image_.message(field.sub);
  EncodeError error = EncodeError::ok;
  for (uint32_t i = range.size; i-- > 0 && p != nullptr;) {
    const char* object = memory_.load_pointer(range.data + size_t{i} * 8, sub.object_size, &error);
    if (object == nullptr) {
      return fail(error == EncodeError::ok ? EncodeError::null_element : error, entry, field.number);
    }
    p = sub_message(p, object, sub, entry, field);
  }
  return p;
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::repeated_strings(char* p, LoadedRange range, const MessageEntry& entry,
                                              const FieldEntry& field) {
  EncodeError error = EncodeError::ok;
  for (uint32_t i = range.size; i-- > 0 && p != nullptr;) {
    LoadedRange element;
    if (!memory_.load_range(range.data + size_t{i} * 16, 1, 1, &element, &error)) {
      return fail(error, entry, field.number);
    }
    p = string(p, element, entry, field);
  }
  return p;
}

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::packed(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field) {
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  size_t before = sink_.total(p);
  if (field.wire_type != wire::kVarint) {
    p = blob(p, range.data, size_t{range.size} * element_size, entry, field.number);
    if (p == nullptr) return nullptr;
  } else {
    for (uint32_t left = range.size; left > 0;) {
      constexpr uint32_t kBatch = Sink::kVarintsAtOnce;  // ask for room once for so many
      uint32_t stop = left < kBatch ? 0 : left - kBatch;
      p = room(p, (left - stop) * kVarintRoom, entry, field.number);
      if (p == nullptr) return nullptr;
      while (left > stop) {
        --left;
        p = put_varint<Sink>(p, varint_of(range.data + size_t{left} * element_size, field.kind));
      }
    }
  }
  size_t size = sink_.total(p) - before;
  p = room(p, kTagRoom + kVarintRoom, entry, field.number);
  if (p == nullptr) return nullptr;
  return number_tag(put_varint<Sink>(p, size), field.number, wire::kLengthDelimited);
}

}  // namespace drover
