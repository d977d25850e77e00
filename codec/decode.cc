// The decoder's main loop: one tag, one field, until the innermost limit. Singular fields are read here.
#include "codec/decode.h"

#include "codec/decoder.h"
#include "message/operations.h"

namespace drover {

using schema::Kind;

const char* Decoder::fail(DecodeError error, const char* p) {
  if (error_ == DecodeError::ok) {
    error_ = error;
    error_offset_ = input_.offset(p);
  }
  return nullptr;
}

const char* Decoder::fail_past_limit() {
  if (error_ == DecodeError::ok) {
    error_ = DecodeError::truncated;
    error_offset_ = input_.limit_offset();
  }
  return nullptr;
}

// Says what is wrong with a tag that was read from `start` up to `behind` (null: it is too long).
const char* Decoder::bad_tag(uint32_t tag, const char* start, const char* behind) {
  if (behind != nullptr && input_.left(behind) < 0) return fail_past_limit();
  if (behind == nullptr) {
    bool overlong = true;
    for (int i = 0; i < 5; ++i) overlong &= static_cast<uint8_t>(start[i]) >= 0x80;
    return fail(overlong ? DecodeError::overlong_varint : DecodeError::bad_tag, start);
  }
  bool end_group = (tag & 7) == wire::kEndGroup && tag >> 3 != 0;
  return fail(end_group ? DecodeError::unmatched_end_group : DecodeError::bad_tag, start);
}

const char* Decoder::length_long(const char* p, uint32_t* size) {
  const char* behind = wire::read_varint32(p, size);
  if (behind == nullptr) return fail(DecodeError::overlong_varint, p);
  if (input_.left(behind) < 0) return fail_past_limit();
  if (*size > wire::kMaxMessage) return fail(DecodeError::too_large, p);
  if (static_cast<int64_t>(*size) > input_.left(behind)) return fail(DecodeError::length_past_end, p);
  return behind;
}

// Presence other than by one of the first 64 has-bits. A oneof's slot is zeroed when another member takes it over.
void Decoder::note_presence(char* object, const FieldEntry& field) {
  if (field.case_offset != 0) {
    char* word = object + field.case_offset;
    if (raw::load<uint32_t>(word) != field.number) {
      std::memset(object + field.offset, 0, schema::is_string_kind(field.kind) ? 16 : 8);
      raw::store(word, field.number);
    }
  } else if (field.has_bit != schema::kNoHasBit) {
    raw::set_has_bit(object, field.has_bit);
  }
}

// The object behind a singular message field; made now if there is none, emptied if it was only kept for reuse.
char* Decoder::sub_object(char* object, const FieldEntry& field, const MessageEntry& entry, uint64_t has) {
  raw::Pointer* pointer = raw::pointer(object, field.offset);
  char* sub = pointer->get();
  if (sub == nullptr) {
    sub = new_message(entry);
    if (sub != nullptr) pointer->set(sub);
    return sub;
  }
  if (field.has_bit != schema::kNoHasBit && !(field.has_bit < 64 && (has >> field.has_bit & 1) != 0) &&
      !raw::has_bit(object, field.has_bit)) {
    message::clear({&image_, image_.index_of(entry)}, reinterpret_cast<Message*>(sub));
  }
  return sub;
}

const char* Decoder::enter(const char* p, char* object, const MessageEntry& entry, uint32_t tag) {
  if ((tag & 7) == wire::kStartGroup) {
    if (depth_ <= 0) return fail(DecodeError::depth_limit, p);
    --depth_;
    p = message(p, object, entry, tag + 1);  // the end-group tag of the same number
    ++depth_;
    return p;
  }
  uint32_t size;
  p = length(p, &size);
  if (p == nullptr) [[unlikely]]
    return nullptr;
  if (depth_ <= 0) [[unlikely]]
    return fail(DecodeError::depth_limit, p);
  --depth_;
  int64_t outer = input_.push_limit(p, size);
  p = message(p, object, entry, 0);
  input_.pop_limit(outer);
  ++depth_;
  return p;
}

bool Decoder::string_alias(const char* p, raw::Words* to, uint32_t size) {
  bool writable_behind = false;
  const char* origin = size == 0 ? nullptr : input_.origin(p, size, &writable_behind);
  if (origin == nullptr) return false;
  bool terminate = options_.terminate_aliases && writable_behind;
  to->set_begin(origin);
  to->size = size;
  to->meta =
      (to->meta & ~((1u << String::kBackShift) - 1)) | String::kBorrowed | (terminate ? 0 : String::kUnterminated);
  if (terminate) pending_nul_ = const_cast<char*>(origin) + size;
  return true;
}

const char* Decoder::string_copy(const char* p, raw::Words* to, uint32_t size, bool check_utf8) {
  if (size == 0) {
    *to = {0, 0, to->meta & ~((1u << String::kBackShift) - 1)};
    return p;
  }
  bool own = to->data != 0 && !to->borrowed();
  char* bytes = to->begin();
  if (own && to->string_storage() > size) {
    // Exact storage knows its extent by size alone: note the largest class inside it before size shrinks.
    if (to->storage_class() == 0) {
      uint32_t cls = static_cast<uint32_t>(std::bit_width(size_t{to->size} + 1)) - 1;
      to->meta |= ((size_t{1} << cls) > size ? cls : 0) << raw::Words::kClassShift;
    }
  } else {
    bytes = static_cast<char*>(arena_.allocate(size_t{size} + 1));
    if (bytes == nullptr) return fail(DecodeError::out_of_memory, p);
    to->meta &= ~((1u << String::kBackShift) - 1);
    to->set_begin(bytes);
  }
  to->size = size;
  bytes[size] = '\0';
  size_t offset = input_.offset(p);
  p = input_.copy(p, bytes, size);
  if (check_utf8 && !is_valid_utf8(bytes, size)) {
    if (error_ == DecodeError::ok) {
      error_ = DecodeError::bad_utf8;
      error_offset_ = offset;
    }
    return nullptr;
  }
  return p;
}

// False: the closed enum does not know the value (a map entry takes it for now; map_entry looks afterwards).
bool Decoder::keeps_enum(char*, const MessageEntry& entry, const FieldEntry& field, uint64_t value) {
  return image_.enum_has_value(field.sub, static_cast<int32_t>(value)) ||
         (entry.flags & schema::kMessageFlagMapEntry) != 0;
}

// Marks a singular field as set; in front of storing its value.
#define DROVER_SET_PRESENT()                                                   \
  if (field->has_bit < 64) [[likely]] {                                        \
    has |= uint64_t{1} << field->has_bit;                                      \
  } else if (field->case_offset != 0 || field->has_bit != schema::kNoHasBit) { \
    note_presence(object, *field);                                             \
  }

#define DROVER_READ_VARINT(value)                      \
  uint64_t value;                                      \
  {                                                    \
    const char* behind = wire::read_varint(p, &value); \
    if (behind == nullptr) [[unlikely]] {              \
      p = fail(DecodeError::overlong_varint, p);       \
      goto failed;                                     \
    }                                                  \
    p = behind;                                        \
  }

const char* Decoder::message(const char* p, char* object, const MessageEntry& entry, uint32_t end_group) {
  const FieldEntry* const fields = image_.fields(entry).first;
  const uint16_t* const direct = reinterpret_cast<const uint16_t*>(image_.data() + entry.direct);
  const uint32_t direct_count = entry.direct_count;
  uint64_t has = 0;
  uint32_t tag = 0;
  for (;;) {
    if (input_.done(&p)) [[unlikely]] {
      if (p == nullptr) {
        fail_past_limit();
        goto failed;
      }
      if (end_group != 0) {
        p = fail(DecodeError::unmatched_end_group, p);
        goto failed;
      }
      break;
    }
    const char* start = p;
    tag = static_cast<uint8_t>(p[0]);
    if (tag < 0x80) [[likely]] {
      p += 1;
    } else if (static_cast<uint8_t>(p[1]) < 0x80) {
      tag = (tag & 0x7f) | static_cast<uint32_t>(static_cast<uint8_t>(p[1])) << 7;
      p += 2;
    } else {
      uint32_t long_tag = 0;
      p = wire::read_varint32(p, &long_tag);
      tag = long_tag;
      if (p == nullptr) [[unlikely]] {
        p = bad_tag(0, start, nullptr);
        goto failed;
      }
    }
    if (pending_nul_ != nullptr) [[unlikely]]
      write_pending_nul();

    const FieldEntry* field;
    uint32_t slot = (tag >> 3) - 1;
    if (slot < direct_count) [[likely]] {
      uint32_t position = direct[slot];
      field = position == 0 ? nullptr : fields + (position - 1);
    } else {
      field = image_.find_field(entry, tag >> 3);
    }
    if (field == nullptr || field->wire_type != (tag & 7)) [[unlikely]] {
      if (field != nullptr && (tag & 7) == wire::kLengthDelimited && field->label == schema::kLabelRepeated &&
          !schema::is_message_kind(field->kind)) {
        p = packed(p, object, entry, *field);
      } else if (tag == end_group && tag != 0) {
        break;
      } else if (tag >> 3 == 0 || (tag & 7) > wire::kFixed32 || (tag & 7) == wire::kEndGroup) {
        p = bad_tag(tag, start, p);
      } else {
        p = unknown_field(p, object, tag);
      }
      if (p == nullptr) [[unlikely]]
        goto failed;
      continue;
    }

    char* at = object + field->offset;
    switch (field->kind + field->label * schema::kKindCount) {
      case op(Kind::kInt32, schema::kLabelSingular):
      case op(Kind::kUint32, schema::kLabelSingular): {
        DROVER_READ_VARINT(value);
        DROVER_SET_PRESENT();
        raw::store(at, static_cast<uint32_t>(value));
        continue;
      }
      case op(Kind::kEnum, schema::kLabelSingular): {
        DROVER_READ_VARINT(value);
        if ((field->flags & schema::kFieldFlagClosedEnum) != 0 && !keeps_enum(object, entry, *field, value)) {
          if (!append_unknown_varint(object, tag, value, p)) goto failed;
          continue;
        }
        DROVER_SET_PRESENT();
        raw::store(at, static_cast<uint32_t>(value));
        continue;
      }
      case op(Kind::kInt64, schema::kLabelSingular):
      case op(Kind::kUint64, schema::kLabelSingular): {
        DROVER_READ_VARINT(value);
        DROVER_SET_PRESENT();
        raw::store(at, value);
        continue;
      }
      case op(Kind::kBool, schema::kLabelSingular):
      case op(Kind::kSint32, schema::kLabelSingular):
      case op(Kind::kSint64, schema::kLabelSingular): {
        DROVER_READ_VARINT(value);
        DROVER_SET_PRESENT();
        store_varint(at, field->kind, value);
        continue;
      }
      case op(Kind::kFixed32, schema::kLabelSingular):
      case op(Kind::kSfixed32, schema::kLabelSingular):
      case op(Kind::kFloat, schema::kLabelSingular):
        DROVER_SET_PRESENT();
        std::memcpy(at, p, 4);
        p += 4;
        continue;
      case op(Kind::kFixed64, schema::kLabelSingular):
      case op(Kind::kSfixed64, schema::kLabelSingular):
      case op(Kind::kDouble, schema::kLabelSingular):
        DROVER_SET_PRESENT();
        std::memcpy(at, p, 8);
        p += 8;
        continue;
      case op(Kind::kString, schema::kLabelSingular):
      case op(Kind::kBytes, schema::kLabelSingular):
        DROVER_SET_PRESENT();
        p = string(p, raw::words(object, field->offset), (field->flags & schema::kFieldFlagUtf8) != 0);
        if (p == nullptr) [[unlikely]]
          goto failed;
        continue;
      case op(Kind::kMessage, schema::kLabelSingular):
      case op(Kind::kGroup, schema::kLabelSingular): {
        const MessageEntry& sub_entry = image_.message(field->sub);
        if (field->case_offset != 0) note_presence(object, *field);
        char* sub = sub_object(object, *field, sub_entry, has);
        if (sub == nullptr) [[unlikely]] {
          p = fail(DecodeError::out_of_memory, start);
          goto failed;
        }
        DROVER_SET_PRESENT();
        p = enter(p, sub, sub_entry, tag);
        if (p == nullptr) [[unlikely]]
          goto failed;
        continue;
      }
      case op(Kind::kMessage, schema::kLabelMap):
        p = map_entry(p, object, *field);
        if (p == nullptr) [[unlikely]]
          goto failed;
        continue;
      default:
        p = repeated(p, object, entry, *field, tag);
        if (p == nullptr) [[unlikely]]
          goto failed;
        continue;
    }
  }
  if (has != 0) {
    char* words = object + sizeof(MessageHeader);
    raw::store(words, raw::load<uint32_t>(words) | static_cast<uint32_t>(has));
    if (has >> 32 != 0) raw::store(words + 4, raw::load<uint32_t>(words + 4) | static_cast<uint32_t>(has >> 32));
  }
  return p;

failed:
  if (error_message_ == nullptr) {
    error_message_ = &entry;
    error_field_ = tag >> 3;
  }
  for (uint32_t bit = 0; bit < 64; ++bit) {
    if ((has >> bit & 1) != 0) raw::set_has_bit(object, bit);
  }
  return nullptr;
}

DecodeResult Decoder::run(uint32_t message_index, char* object, std::span<const std::string_view> pieces,
                          size_t total) {
  const char* p = input_.start(pieces.data(), pieces.size(), total, options_.terminate_aliases);
  p = message(p, object, image_.message(message_index), 0);
  if (p != nullptr && pending_nul_ != nullptr) write_pending_nul();
  DecodeResult result;
  result.error = error_;
  result.offset = p == nullptr ? error_offset_ : total;
  if (error_message_ != nullptr) result.message_name = image_.name(error_message_->name);
  result.field_number = error_field_;
  return result;
}

DecodeResult decode(const schema::MessageType& type, Message* object, std::span<const std::string_view> pieces,
                    Arena& arena, const DecodeOptions& options) {
  size_t total = 0;
  for (std::string_view piece : pieces) {
    if (piece.size() > wire::kMaxMessage - total) {
      return {DecodeError::too_large, total, type.full_name(), 0};
    }
    total += piece.size();
  }
  Decoder decoder(*type.image, arena, options);
  return decoder.run(type.index, object->drover_bytes(), pieces, total);
}

DecodeResult decode(const schema::MessageType& type, Message* object, std::string_view wire, Arena& arena,
                    const DecodeOptions& options) {
  return decode(type, object, std::span(&wire, 1), arena, options);
}

const char* decode_error_name(DecodeError error) {
  switch (error) {
    case DecodeError::ok:
      return "ok";
    case DecodeError::truncated:
      return "truncated";
    case DecodeError::overlong_varint:
      return "overlong_varint";
    case DecodeError::bad_tag:
      return "bad_tag";
    case DecodeError::unmatched_end_group:
      return "unmatched_end_group";
    case DecodeError::depth_limit:
      return "depth_limit";
    case DecodeError::length_past_end:
      return "length_past_end";
    case DecodeError::bad_utf8:
      return "bad_utf8";
    case DecodeError::out_of_memory:
      return "out_of_memory";
    case DecodeError::too_large:
      return "too_large";
  }
  return "unknown";
}

std::string to_string(const DecodeResult& result) {
  std::string text = decode_error_name(result.error);
  if (result.ok()) return text;
  text += " at byte " + std::to_string(result.offset) + ", in ";
  if (result.field_number != 0) text += "field " + std::to_string(result.field_number) + " of ";
  return text + result.message_name;
}

}  // namespace drover
