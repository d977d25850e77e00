// Encoder<Memory, Sink>: the encoder itself, private to codec/. Memory says how the object is read
// (codec/encode/encode_memory.h), Sink where the bytes go (codec/encode/encode_sink.h);
// codec/encode/object_walk.h visits the fields. Every writing function takes the position in front of which it writes,
// and returns the new one, or null after fail().
#pragma once

#include "codec/encode/encode_sink.h"
#include "codec/encode/object_walk.h"
#include "codec/wire.h"

namespace drover {

template <typename Memory, typename Sink>
class Encoder : public ObjectWalk<Encoder<Memory, Sink>, Memory, EncodeOptions> {
  using Walk = ObjectWalk<Encoder, Memory, EncodeOptions>;

 public:
  using typename Walk::FieldEntry;
  using typename Walk::FieldStep;
  using typename Walk::Handler;
  using typename Walk::MessageEntry;
  using Kind = schema::Kind;

  // The sink is made from what stands behind the options.
  template <typename... SinkArguments>
  Encoder(const schema::Image& image, Memory memory, const EncodeOptions& options, SinkArguments&&... sink)
      : Walk(image, memory, options), sink_(static_cast<SinkArguments&&>(sink)...) {}
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  Sink& sink() { return sink_; }

  // All fields of the object, which Memory has checked to lie where object_size bytes may be read.
  char* message(char* p, const char* object, const MessageEntry& entry);

 private:
  friend Walk;
  friend struct WalkHandlers<Encoder, Memory>;
  using Walk::depth_;
  using Walk::entry_;
  using Walk::fail;
  using Walk::image_;
  using Walk::memory_;

  static constexpr size_t kTagRoom = 5, kVarintRoom = 10;
  static_assert(kTagRoom + kVarintRoom <= Sink::kScalarRoom);

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

  // ---- what the walk asks for (codec/encode/object_walk.h; encode_handlers.h)
  struct Handlers;
  const Handler* handlers() const { return handlers_; }
  size_t written(const char* p) const { return sink_.total(p); }
  char* unknown_bytes(char* p, const char* data, size_t size, const MessageEntry& entry) {
    return blob(p, data, size, entry, 0);
  }
  char* empty_message(char* p, const MessageEntry& entry, const FieldEntry& field) {
    p = room(p, kTagRoom + 1, entry, field.number);
    return p == nullptr ? nullptr : tag(put_varint<Sink>(p, 0), field);
  }

  // ---- by the field's entry
  char* blob(char* p, const char* data, size_t size, const MessageEntry& entry, uint32_t field);
  char* value(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field);
  char* string(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);
  char* sub_message(char* p, const char* object, const MessageEntry& sub, const MessageEntry& entry,
                    const FieldEntry& field);
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

  Sink sink_;
  const Handler* handlers_ = Handlers::table();
};

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::message(char* p, const char* object, const MessageEntry& entry) {
  return Handlers::whole(this, p, object, entry);
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

template <typename Memory, typename Sink>
char* Encoder<Memory, Sink>::value(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field) {
  if (schema::is_string_kind(field.kind)) {
    EncodeError error = EncodeError::kOk;
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
  if (depth_ <= 0) return fail(EncodeError::kDepthLimit, entry, field.number);
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
