// Encoder<Memory, Sink>: the encoder itself, private to codec/. Memory says how the object is read
// (codec/encode_memory.h), Sink where the bytes go (codec/encode_sink.h). Fields are visited from the last to the
// first, and so are elements. Every writing function takes the position in front of which it writes, and returns the
// new one, or null after fail().
#pragma once

#include "codec/encode_memory.h"
#include "codec/encode_sink.h"
#include "codec/wire.h"
#include "object/owner.h"
#include "schema/image.h"

namespace drover {

template <typename Memory, typename Sink>
class Encoder {
 public:
  using FieldEntry = schema::FieldEntry;
  using MessageEntry = schema::MessageEntry;
  using Kind = schema::Kind;

  Encoder(const schema::Image& image, Memory memory, Sink* sink, const EncodeOptions& options)
      : image_(image),
        memory_(memory),
        sink_(*sink),
        depth_(options.depth_limit),
        check_required_(options.check_required),
        work_allowance_(options.work_allowance) {}

  // All fields of the object, which Memory has checked to lie where object_size bytes may be read.
  char* message(char* p, const char* object, const MessageEntry& entry) {
    if constexpr (!Memory::kTrusted) {
      // Charged against what has been written so far, not against what may be: a small object that shows itself over
      // and over ends soon, whatever max_bytes is.
      work_ += entry.field_count;
      if (work_ > work_allowance_ && work_ - work_allowance_ > kWorkPerByte * uint64_t{sink_.total(p)}) [[unlikely]]
        return fail(EncodeError::too_much_work, entry, 0);
    }
    p = unknown(p, object, entry);
    const schema::FieldRange fields = image_.fields(entry);
    uint64_t has = first_has_bits(object, entry);
    bool map_entry = (entry.flags & schema::kMessageFlagMapEntry) != 0;
    for (const FieldEntry* field = fields.end(); field != fields.begin() && p != nullptr;) {
      --field;
      if (field->has_bit < 64) {  // scalars and strings with presence
        if ((has >> field->has_bit & 1) == 0) {
          if ((field->flags & schema::kFieldFlagRequired) != 0) [[unlikely]]
            p = required(p, entry, *field);
          continue;
        }
        p = value(p, object + field->offset, entry, *field, true);
      } else if (field->label != schema::kLabelSingular) {
        p = repeated(p, object, entry, *field);
      } else {
        p = singular(p, object, entry, *field, map_entry);
      }
    }
    return p;
  }

  EncodeError error() const { return error_; }
  const MessageEntry* error_message() const { return error_message_; }
  uint32_t error_field() const { return error_field_; }

 private:
  // A hostile object may show the same sub-objects again and again: fields looked at, beyond the allowance, are bounded
  // by the output.
  static constexpr uint64_t kWorkPerByte = 4;
  static constexpr size_t kTagRoom = 5, kVarintRoom = 10;

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
  static char* tag(char* p, const FieldEntry& field) { return number_tag(p, field.number, field.wire_type); }
  static char* number_tag(char* p, uint32_t number, uint32_t wire_type) {
    return put_varint<Sink>(p, wire::make_tag(number, wire_type));
  }

  uint64_t first_has_bits(const char* object, const MessageEntry& entry) const {
    const char* words = object + sizeof(MessageHeader);
    if (entry.has_words == 0) return 0;
    uint64_t has = memory_.template load<uint32_t>(words);
    if (entry.has_words > 1) has |= uint64_t{memory_.template load<uint32_t>(words + 4)} << 32;
    return has;
  }

  char* unknown(char* p, const char* object, const MessageEntry& entry) {
    EncodeError error = EncodeError::ok;
    const char* string = memory_.load_pointer(object + offsetof(MessageHeader, unknown), 16, &error);
    if (string == nullptr) [[likely]]
      return error == EncodeError::ok ? p : fail(error, entry, 0);
    LoadedRange range;
    if (!memory_.load_range(string, 1, 1, &range, &error)) return fail(error, entry, 0);
    return range.size == 0 ? p : blob(p, range.data, range.size, entry, 0);
  }

  char* blob(char* p, const char* data, size_t size, const MessageEntry& entry, uint32_t field) {
    if (sink_.refers(size)) {
      p = sink_.refer(p, data, size);
      return p != nullptr ? p : fail(sink_.error(), entry, field);
    }
    p = room(p, size, entry, field);
    return p == nullptr ? nullptr : put_bytes<Sink>(p, data, size);
  }

  // Fields whose presence is a far has-bit, a oneof's case, a pointer or the value itself.
  char* singular(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field, bool map_entry) {
    const char* at = object + field.offset;
    bool always = map_entry;
    if (field.has_bit != schema::kNoHasBit) {
      uint32_t word = memory_.template load<uint32_t>(object + sizeof(MessageHeader) + field.has_bit / 32 * 4);
      if ((word >> (field.has_bit % 32) & 1) == 0) return required(p, entry, field);
      always = true;
    } else if (field.case_offset != 0) {
      if (memory_.template load<uint32_t>(object + field.case_offset) != field.number) return p;
      always = true;
    }
    if (schema::is_message_kind(field.kind)) return singular_message(p, at, entry, field, map_entry);
    return value(p, at, entry, field, always);
  }

  char* required(char* p, const MessageEntry& entry, const FieldEntry& field) {
    if ((field.flags & schema::kFieldFlagRequired) == 0 || !check_required_) return p;
    return fail(EncodeError::missing_required, entry, field.number);
  }

  // A scalar or string; an empty one only if `always`.
  char* value(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field, bool always) {
    if (schema::is_string_kind(field.kind)) {
      EncodeError error = EncodeError::ok;
      LoadedRange range;
      if (!memory_.load_range(at, 1, 1, &range, &error)) return fail(error, entry, field.number);
      return range.size == 0 && !always ? p : string(p, range, entry, field);
    }
    if (schema::is_message_kind(field.kind)) return singular_message(p, at, entry, field, false);
    p = room(p, kTagRoom + kVarintRoom, entry, field.number);
    return p == nullptr ? nullptr : scalar(p, at, field, always);
  }

  char* scalar(char* p, const char* at, const FieldEntry& field, bool always) const {
    if (field.wire_type == wire::kVarint) {
      uint64_t number = varint_of(at, field.kind);
      if (number == 0 && !always) return p;
      p = put_varint<Sink>(p, number);
    } else if (field.wire_type == wire::kFixed64) {
      uint64_t bits = memory_.template load<uint64_t>(at);
      if (bits == 0 && !always) return p;
      p = put_bytes<Sink>(p, &bits, 8);
    } else {
      uint32_t bits = memory_.template load<uint32_t>(at);
      if (bits == 0 && !always) return p;
      p = put_bytes<Sink>(p, &bits, 4);
    }
    return tag(p, field);
  }

  uint64_t varint_of(const char* at, uint8_t kind) const {
    switch (static_cast<Kind>(kind)) {
      case Kind::kBool:
        return memory_.template load<uint8_t>(at) != 0;
      case Kind::kInt32:
      case Kind::kEnum:
        return static_cast<uint64_t>(int64_t{memory_.template load<int32_t>(at)});
      case Kind::kSint32:
        return static_cast<uint32_t>(wire::zigzag(memory_.template load<int32_t>(at)));
      case Kind::kSint64:
        return wire::zigzag(memory_.template load<int64_t>(at));
      case Kind::kUint32:
        return memory_.template load<uint32_t>(at);
      default:
        return memory_.template load<uint64_t>(at);
    }
  }

  char* string(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field) {
    if (!sink_.refers(range.size)) [[likely]] {
      p = room(p, range.size + kTagRoom + kVarintRoom, entry, field.number);
      if (p == nullptr) return nullptr;
      if (range.size != 0) p = put_bytes<Sink>(p, range.data, range.size);
    } else {
      p = blob(p, range.data, range.size, entry, field.number);
      if (p != nullptr) p = room(p, kTagRoom + kVarintRoom, entry, field.number);
      if (p == nullptr) return nullptr;
    }
    return tag(put_varint<Sink>(p, range.size), field);
  }

  char* singular_message(char* p, const char* at, const MessageEntry& entry, const FieldEntry& field, bool map_entry) {
    const MessageEntry& sub = image_.message(field.sub);
    EncodeError error = EncodeError::ok;
    const char* object = memory_.load_pointer(at, sub.object_size, &error);
    if (object != nullptr) return sub_message(p, object, sub, entry, field);
    if (error != EncodeError::ok) return fail(error, entry, field.number);
    if (!map_entry) return required(p, entry, field);
    p = room(p, kTagRoom + 1, entry, field.number);  // an entry's unset value: the empty message
    return p == nullptr ? nullptr : tag(put_varint<Sink>(p, 0), field);
  }

  char* sub_message(char* p, const char* object, const MessageEntry& sub, const MessageEntry& entry,
                    const FieldEntry& field) {
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

  char* repeated(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field) {
    const char* at = object + field.offset;
    uint32_t element_size = schema::kStorageOfKind[field.kind];
    EncodeError error = EncodeError::ok;
    LoadedRange range;
    uint32_t alignment = element_size > 8 ? 8 : element_size;
    if (!memory_.load_range(at, element_size, alignment, &range, &error)) return fail(error, entry, field.number);
    if (range.size == 0) [[likely]]
      return p;
    if (schema::is_message_kind(field.kind)) return repeated_messages(p, range, entry, field);
    if (schema::is_string_kind(field.kind)) return repeated_strings(p, range, entry, field);
    if ((field.flags & schema::kFieldFlagPacked) != 0) return packed(p, range, entry, field);
    for (uint32_t i = range.size; i-- > 0;) {
      p = room(p, kTagRoom + kVarintRoom, entry, field.number);
      if (p == nullptr) return nullptr;
      p = scalar(p, range.data + size_t{i} * element_size, field, true);
    }
    return p;
  }

  char* repeated_messages(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field) {
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

  char* repeated_strings(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field) {
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

  char* packed(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field) {
    uint32_t element_size = schema::kStorageOfKind[field.kind];
    size_t before = sink_.total(p);
    if (field.wire_type != wire::kVarint) {
      p = blob(p, range.data, size_t{range.size} * element_size, entry, field.number);
      if (p == nullptr) return nullptr;
    } else {
      for (uint32_t left = range.size; left > 0;) {
        constexpr uint32_t kBatch = 64;  // ask for room once for so many
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

  const schema::Image& image_;
  Memory memory_;
  Sink& sink_;
  int depth_;
  bool check_required_;
  uint64_t work_allowance_;
  uint64_t work_ = 0;  // fields looked at
  EncodeError error_ = EncodeError::ok;
  const MessageEntry* error_message_ = nullptr;
  uint32_t error_field_ = 0;
};

}  // namespace drover
