// Fields that the tag's first byte does not decide. Lookup finds the field by the tag's whole number; `generic` reads
// fields that a FieldStep cannot describe (members of oneofs, far has-bits, far offsets) by their FieldEntry.
#pragma once

#include "codec/decode/decode_dispatch.h"
#include "codec/decode/store_varint.h"

namespace drover {

// Goes to Lookup::find, which reads the tag again, if p is not at the tag of the step. Clearing `tag` here keeps the
// comparison one instruction, and gives its register to the handler.
#define DROVER_DECODE_CHECK_TAG()             \
  do {                                        \
    bool same = matches<kTagSize>(step, tag); \
    tag = 0;                                  \
    if (!same) [[unlikely]]                   \
      DROVER_DECODE_GO(Lookup::find);         \
  } while (false)

template <typename Memory>
struct Decoder<Memory>::Lookup {
  // Usually the tag has two bytes and its slot belongs to another number.
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(find) {
    tag = raw::load<uint16_t>(p);
    if ((tag & 0x80) == 0 && reinterpret_cast<const FieldStep*>(slots)[(tag & 0x7f) >> 3].position == 0) {
      step = nullptr;
      tag &= 0x7f;
      p += 1;
      DROVER_DECODE_GO(not_a_field);
    }
    uint32_t number = (tag & 0x7f) >> 3 | (tag >> 8) << 4;
    if ((tag & 0x8080) == 0x80 && number < d->entry_->slot_count) {
      step = reinterpret_cast<const FieldStep*>(slots) + number;
      if (step->tag == static_cast<uint16_t>(tag)) {
        Handler handler = static_cast<const Handler*>(table)[step->op];
        DROVER_DECODE_GO(handler);
      }
    }
    DROVER_DECODE_GO(find_slow);
  }
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(find_slow) {
    const char* tag_at = p;
    uint32_t whole = 0;
    p = wire::read_varint32(p, &whole);
    step = nullptr;
    if (p == nullptr) {
      p = d->bad_tag(0, tag_at, nullptr);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    tag = whole;
    const FieldStep* found = d->find_step(whole >> 3);
    if (found == nullptr) DROVER_DECODE_GO(not_a_field);
    const FieldEntry& field = d->field_at(found);
    uint32_t wire_type = whole & 7;
    bool packed = field.label == schema::kLabelRepeated && !schema::is_string_kind(field.kind) &&
                  !schema::is_message_kind(field.kind) && wire_type == wire::kLengthDelimited;
    if (wire_type != field.wire_type && !packed) DROVER_DECODE_GO(not_a_field);
    step = found;
    uint32_t op = uint32_t{step->op} >> schema::StepOp::kCodeShift;
    if (packed || field.label == schema::kLabelRepeated || op == schema::kOpGeneric) DROVER_DECODE_GO(generic);
    // On to the handler for tags of one byte, as if that byte were the tag's last.
    tag = step->tag;
    p -= 1;
    Handler handler = static_cast<const Handler*>(table)[op * 2];
    DROVER_DECODE_GO(handler);
  }

  // `tag` is the whole tag, and p behind it.
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(not_a_field) {
    auto whole = static_cast<uint32_t>(tag);
    if (d->end_group_ != 0 && whole == d->end_group_) DROVER_DECODE_GO(Dispatch::leave_message);
    d->unknown_number_ = whole >> 3;
    if (whole >> 3 == 0 || (whole & 7) > wire::kFixed32 || (whole & 7) == wire::kEndGroup) {
      p = d->bad_tag(whole, p - 1, p);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    p = d->unknown_field(p, object, whole, d->depth_left());
    if (p == nullptr) DROVER_DECODE_GO(Dispatch::failed);
    d->unknown_number_ = 0;
    DROVER_DECODE_NEXT();
  }

  // Fields that a step cannot describe: members of oneofs, far has-bits, far offsets.
  template <int kTagSize>
  static DROVER_DECODE_HANDLER(by_entry) {
    DROVER_DECODE_CHECK_TAG();
    tag = kTagSize == 1 ? step->tag & 0xff : (step->tag & 0x7f) | (step->tag >> 8 & 0x7f) << 7;
    p += kTagSize;
    DROVER_DECODE_GO(generic);
  }
  // `tag` is the whole tag, and p behind it.
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(generic) {
    const FieldEntry& field = d->field_at(step);
    auto whole = static_cast<uint32_t>(tag);
    if (field.label == schema::kLabelRepeated && !schema::is_message_kind(field.kind)) {
      bool packed = (whole & 7) == wire::kLengthDelimited && !schema::is_string_kind(field.kind);
      p = packed ? d->packed(p, object, field) : d->repeated(p, object, step, whole);
    } else if (!schema::is_message_kind(field.kind)) {
      p = d->singular(p, object, field);
    } else {
      char* sub = d->sub_object(p, object, field);
      if (sub == nullptr) {
        p = nullptr;
        DROVER_DECODE_GO(Dispatch::failed);
      }
      d->entering_ = sub;
      DROVER_DECODE_GO(Dispatch::enter);
    }
    if (p == nullptr) DROVER_DECODE_GO(Dispatch::failed);
    DROVER_DECODE_NEXT();
  }
};

template <typename Memory>
const schema::FieldStep* Decoder<Memory>::find_step(uint32_t number) const {
  if (number < entry_->slot_count) {
    const FieldStep* step = image_.slots(*entry_) + number;
    return step->position == 0 ? nullptr : step;
  }
  const FieldEntry* field = image_.find_field(*entry_, number);
  return field == nullptr ? nullptr : image_.steps(*entry_) + (field - image_.fields(*entry_).first);
}

// Says what is wrong with a tag that was read from `start` up to `behind` (null: it is too long).
template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::bad_tag(uint32_t tag, const char* start, const char* behind) {
  if (behind != nullptr && input_.left(behind) < 0) return fail_past_limit();
  if (behind == nullptr) {
    bool overlong = true;
    for (int i = 0; i < 5; ++i) overlong &= static_cast<uint8_t>(start[i]) >= 0x80;
    return fail(overlong ? DecodeError::kOverlongVarint : DecodeError::kBadTag, start);
  }
  bool end_group = (tag & 7) == wire::kEndGroup && tag >> 3 != 0;
  return fail(end_group ? DecodeError::kUnmatchedEndGroup : DecodeError::kBadTag, start);
}

// Presence other than by one of a step's has-bits. A oneof's slot is zeroed when another member takes it over.
template <typename Memory>
void Decoder<Memory>::note_presence(char* object, const FieldEntry& field) {
  if (field.case_offset != 0) {
    char* word = object + field.case_offset;
    if (raw::load<uint32_t>(word) != field.number) {
      raw::store<uint64_t>(object + field.offset, 0);
      if (schema::is_string_kind(field.kind)) raw::store<uint64_t>(object + field.offset + 8, 0);
      raw::store(word, field.number);
    }
  } else if (field.has_bit != schema::kNoHasBit) {
    raw::set_has_bit(object, field.has_bit);
  }
}

// A singular scalar or string, by its entry; p is behind the tag.
template <typename Memory>
const char* Decoder<Memory>::singular(const char* p, char* object, const FieldEntry& field) {
  char* at = object + field.offset;
  if (schema::is_string_kind(field.kind)) {
    note_presence(object, field);
    return string(p, raw::words(object, field.offset), (field.flags & schema::kFieldFlagUtf8) != 0);
  }
  uint32_t size = schema::kStorageOfKind[field.kind];
  if (field.wire_type != wire::kVarint) {
    note_presence(object, field);
    std::memcpy(at, p, size);
    return p + size;
  }
  uint64_t value;
  const char* behind = wire::read_varint(p, &value);
  if (behind == nullptr) return fail(DecodeError::kOverlongVarint, p);
  if ((field.flags & schema::kFieldFlagClosedEnum) != 0 && (entry_->flags & schema::kMessageFlagMapEntry) == 0 &&
      !enum_knows(field, value)) {
    uint32_t tag = wire::make_tag(field.number, wire::kVarint);
    return append_unknown_varint(object, tag, value, behind) ? behind : nullptr;
  }
  note_presence(object, field);
  switch (static_cast<Kind>(field.kind)) {
    case Kind::kBool:
      store_varint<schema::kOpBool>(at, value);
      break;
    case Kind::kSint32:
      store_varint<schema::kOpSint32>(at, value);
      break;
    case Kind::kSint64:
      store_varint<schema::kOpSint64>(at, value);
      break;
    case Kind::kInt64:
    case Kind::kUint64:
      store_varint<schema::kOpVarint64>(at, value);
      break;
    default:
      store_varint<schema::kOpUint32>(at, value);
      break;
  }
  return behind;
}

// The object behind a field that only its entry describes: of a singular field, made now if it is not set; a new
// element of a repeated one; a new entry of a map.
template <typename Memory>
char* Decoder<Memory>::sub_object(const char* p, char* object, const FieldEntry& field) {
  if (field.label == schema::kLabelRepeated) return add_message(p, object + field.offset, field, 0, 0);
  const MessageEntry& entry = image_.message(field.sub);
  raw::Pointer* pointer = raw::pointer(object, field.offset);
  if (field.label == schema::kLabelSingular) {
    note_presence(object, field);
    if (pointer->offset != 0) return pointer->get();
  }
  char* sub = new_message(entry);
  if (sub == nullptr) fail(DecodeError::kOutOfMemory, p);
  if (sub != nullptr && field.label == schema::kLabelSingular) pointer->set(sub);
  return sub;
}

}  // namespace drover
