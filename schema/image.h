// The schema image (docs/formats.md, section 1): its structs, and Image, a read-only view of one.
//
//   ImageHeader | MessageEntry[] | FieldEntry[] | EnumEntry[] | EnumValueEntry[] | slots and steps | strings
//
// The structs and constants come from schema/image.toml, by way of schema/image_format.h. An Image refers to bytes of
// another owner, 8-byte aligned, which must outlive it; copying it is free. It is either trusted (embedded by
// protoc-gen-drover) or has passed Image::load, which checks everything once; the accessors then check nothing.
// Thread-safety: all const, any thread. Freestanding: this header and image.cc need no operating system and no heap;
// the loader (image_load.cc) does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schema/image_format.h"

namespace drover::schema {

inline constexpr uint8_t kKindCount = sizeof kWireTypeOfKind;  // kinds are 1..18; tables indexed by kind are so large

inline bool is_message_kind(uint8_t kind) {
  return kind == static_cast<uint8_t>(Kind::kMessage) || kind == static_cast<uint8_t>(Kind::kGroup);
}
inline bool is_string_kind(uint8_t kind) {
  return kind == static_cast<uint8_t>(Kind::kString) || kind == static_cast<uint8_t>(Kind::kBytes);
}
// Bytes that a field takes in the object, and what its offset is a multiple of.
inline uint32_t field_storage(uint8_t kind, uint8_t label) {
  return label == kLabelSingular ? kStorageOfKind[kind] : label == kLabelMap ? kMapSize : kRepeatedSize;
}
inline uint32_t field_alignment(uint8_t kind, uint8_t label) {
  uint32_t storage = field_storage(kind, label);
  return storage > 8 ? 8 : storage;
}
// Object offset of a message's first oneof case word, and of the first byte behind has-bits and case words.
inline uint32_t case_words_offset(const MessageEntry& message) { return kObjectHeaderSize + 4u * message.has_words; }
inline uint32_t object_prefix_size(const MessageEntry& message) {
  return case_words_offset(message) + 4u * message.oneof_count;
}

// ---- steps: what a codec has to know of a field in one 64-bit word (docs/formats.md, FieldStep)
// The op class of one element of a kind. `closed`: a closed enum whose unknown values are not kept in the field.
inline uint32_t op_class(uint8_t kind, bool utf8, bool closed) {
  switch (static_cast<Kind>(kind)) {
    case Kind::kInt32:
      return kOpInt32;
    case Kind::kEnum:
      return closed ? kOpClosedEnum : kOpInt32;
    case Kind::kUint32:
      return kOpUint32;
    case Kind::kInt64:
    case Kind::kUint64:
      return kOpVarint64;
    case Kind::kBool:
      return kOpBool;
    case Kind::kSint32:
      return kOpSint32;
    case Kind::kSint64:
      return kOpSint64;
    case Kind::kFloat:
    case Kind::kFixed32:
    case Kind::kSfixed32:
      return kOpFixed32;
    case Kind::kDouble:
    case Kind::kFixed64:
    case Kind::kSfixed64:
      return kOpFixed64;
    case Kind::kString:
      return utf8 ? kOpUtf8 : kOpBytes;
    case Kind::kBytes:
      return kOpBytes;
    case Kind::kMessage:
      return kOpMessage;
    case Kind::kGroup:
      return kOpGroup;
  }
  return kOpNone;
}

// Precedes a message's first step: following the steps from the last to the first ends here.
inline constexpr FieldStep kNoMoreSteps = {0, kOpNone, kStepByValue, 0, 0};

// The step of a field; `position` is 1 + its index among the fields of `message`. It follows from the entries alone:
// the builder writes it, and the loader demands it.
inline FieldStep make_step(const MessageEntry& message, const FieldEntry& field, uint32_t position) {
  bool map_entry = (message.flags & kMessageFlagMapEntry) != 0;
  bool closed = (field.flags & kFieldFlagClosedEnum) != 0 && !map_entry;
  bool packed = field.label == kLabelRepeated && (field.flags & kFieldFlagPacked) != 0;
  uint32_t op = op_class(field.kind, (field.flags & kFieldFlagUtf8) != 0, closed);
  bool by_bit = field.has_bit != kNoHasBit;
  if (field.label == kLabelMap) {
    op = kOpMap;
  } else if (packed) {
    op = kOpPacked;
  } else if (field.label == kLabelRepeated) {
    op += kOpRepeated;
  } else if (field.case_offset != 0 || (by_bit && field.has_bit >= kStepHasBits)) {
    op = kOpGeneric;
  }
  if (field.offset > 0xFFFF) op = kOpGeneric;
  uint32_t tag = field.number << 3 | (packed ? 2 : field.wire_type);
  FieldStep step{};
  step.op = static_cast<uint8_t>(op << StepOp::kCodeShift | (field.number >= 16 ? StepOp::kLongTagMask : 0));
  if (field.number < 16) step.tag = static_cast<uint16_t>(tag);
  if (field.number >= 16 && field.number < kMaxSlots) {
    step.tag = static_cast<uint16_t>((tag & 0x7f) | 0x80 | (tag >> 7) << 8);
  }
  step.has_bit = static_cast<uint8_t>(map_entry                                ? kStepAlways
                                      : by_bit && field.has_bit < kStepHasBits ? field.has_bit
                                                                               : kStepByValue);
  step.offset = static_cast<uint16_t>(field.offset > 0xFFFF ? 0 : field.offset);
  step.position = static_cast<uint16_t>(position);
  return step;
}

// ---- loading
enum class LoadError : uint8_t {
  kOk = 0,
  kMisaligned,  // the bytes are not 8-byte aligned in memory
  kTruncated,   // fewer bytes than the header says (or than a header)
  kBadMagic,
  kBadVersion,
  kBadHeaderSize,
  kBadSize,  // more bytes than the header says
  kBadChecksum,
  kBadTable,   // a table is misaligned, overlaps the one before it, or leaves the image
  kBadString,  // a name or default lies outside the string area, or lacks its NUL
  kBadOrder,   // messages or enums do not ascend by name, fields or values not by number
  kBadRange,   // a message's fields, slots or an enum's values do not follow those of the one before
  kBadFlags,   // unknown or contradictory flag bits
  kBadKind,    // unknown kind or label, or a wire type that is not the kind's
  kBadLayout,  // a field outside its object, misaligned, or over another field
  kBadHasBit,
  kBadOneof,
  kBadSub,  // index out of range, or present where the kind needs none, or missing
  kBadMapEntry,
  kBadExtension,
  kBadLookup,  // slots or steps disagree with the fields
  kBadEnum,
  kNotZero,  // a reserved word is not zero
};

const char* load_error_name(LoadError error);

// What load() found; `load_message` (schema/image_load.h) makes a sentence of it.
struct LoadResult {
  static constexpr uint64_t kAnything = ~uint64_t{0};  // `expected` where no one value is
  LoadError error = LoadError::kOk;
  const char* where = "";  // the table or header member, a static string
  uint32_t index = 0;      // which entry of that table
  const char* what = "";   // the rule that was broken, a static string
  uint64_t found = 0;
  uint64_t expected = 0;
  bool ok() const { return error == LoadError::kOk; }
};

struct StringRef {
  const char* data;
  uint32_t size;
};

struct FieldRange {
  const FieldEntry* first;
  uint32_t count;
  const FieldEntry* begin() const { return first; }
  const FieldEntry* end() const { return first + count; }
  uint32_t size() const { return count; }
  const FieldEntry& operator[](uint32_t i) const { return first[i]; }
};

class Image {
 public:
  constexpr Image() = default;

  // Checks all of `bytes` (hostile input is expected) and, if it is a valid image, sets *out to a view of it.
  // The bytes must not change afterwards, other than a field's target flag.
  static LoadResult load(const void* bytes, size_t size, Image* out);

  // A view of a trusted image. The first is usable in constant initialization.
  static constexpr Image from_trusted(const unsigned char* bytes);
  static Image from_trusted(const void* bytes) { return from_trusted(static_cast<const unsigned char*>(bytes)); }

  bool valid() const { return base_ != nullptr; }
  const unsigned char* data() const { return base_; }
  uint32_t size() const { return header().size; }
  const ImageHeader& header() const { return *at<ImageHeader>(base_); }

  uint32_t message_count() const { return header().message_count; }
  const MessageEntry& message(uint32_t index) const { return at<MessageEntry>(messages_)[index]; }
  uint32_t index_of(const MessageEntry& m) const { return static_cast<uint32_t>(&m - at<MessageEntry>(messages_)); }
  FieldRange fields(const MessageEntry& m) const { return {at<FieldEntry>(fields_) + m.first_field, m.field_count}; }

  // The field of that number; null if the message has none. Any number is allowed, also 0.
  const FieldEntry* find_field(const MessageEntry& m, uint32_t number) const {
    const FieldEntry* first = at<FieldEntry>(fields_) + m.first_field;
    if (number < m.slot_count) [[likely]] {
      uint32_t position = slots(m)[number].position;
      return position == 0 ? nullptr : first + (position - 1);
    }
    return find_sparse(first, m.field_count, number);
  }
  // Slots: slot_count steps, indexed by field number. Steps: field_count of them, in the order of the fields; in front
  // of the first stands kNoMoreSteps.
  const FieldStep* slots(const MessageEntry& m) const { return at<FieldStep>(base_ + m.slots); }
  const FieldStep* steps(const MessageEntry& m) const { return at<FieldStep>(base_ + m.steps); }
  const FieldEntry* find_field_by_name(const MessageEntry& m, const char* name, size_t size) const;

  // The message a field's `sub` names; only for kinds message and group.
  const MessageEntry& sub_message(const FieldEntry& field) const { return message(field.sub); }

  // The index of the message of that full name ("pkg.Outer.Inner", no leading dot); -1 if it is absent.
  int64_t find_message(const char* full_name, size_t size) const;

  uint32_t enum_count() const { return header().enum_count; }
  const EnumEntry& enum_entry(uint32_t index) const { return at<EnumEntry>(enums_)[index]; }
  const EnumValueEntry* enum_values(const EnumEntry& e) const {
    return at<EnumValueEntry>(enum_values_) + e.first_value;
  }
  // The first value declared with that number; null if it is absent.
  const EnumValueEntry* find_enum_value(const EnumEntry& e, int32_t number) const;
  // The number of entries at enum_values(e): value_count of different numbers, then alias_count more names.
  static uint32_t enum_name_count(const EnumEntry& e) { return e.value_count + e.alias_count; }
  bool enum_has_value(uint32_t index, int32_t number) const {
    const EnumEntry& e = enum_entry(index);
    const EnumValueEntry* values = enum_values(e);
    // Most enums count up from their first value, which needs no search; nor do a few values.
    uint32_t guess = static_cast<uint32_t>(number) - static_cast<uint32_t>(values[0].number);
    if (guess < e.value_count && values[guess].number == number) [[likely]]
      return true;
    if (e.value_count > 8) return find_enum_value(e, number) != nullptr;
    for (uint32_t i = 0; i < e.value_count; ++i) {
      if (values[i].number == number) return true;
    }
    return false;
  }
  int64_t find_enum(const char* full_name, size_t size) const;

  // NUL-terminated; `offset` is a `name` or `json_name` of an entry.
  const char* name(uint32_t offset) const { return reinterpret_cast<const char*>(base_ + offset); }

  // The default of a singular scalar or enum: the low 1, 4 or 8 bytes are what the field would hold.
  uint64_t default_scalar(const FieldEntry& f) const {
    return f.default_value == 0 ? 0 : *at<uint64_t>(base_ + f.default_value);
  }
  // The default of a singular string or bytes field; a NUL lies behind it.
  StringRef default_string(const FieldEntry& f) const {
    if (f.default_value == 0) return {"", 0};
    return {reinterpret_cast<const char*>(base_ + f.default_value + 4), *at<uint32_t>(base_ + f.default_value)};
  }

 private:
  template <typename T>
  static const T* at(const unsigned char* p) {
    return reinterpret_cast<const T*>(p);
  }
  static constexpr uint32_t word(const unsigned char* p) {
    return p[0] | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
  }
  static const FieldEntry* find_sparse(const FieldEntry* first, uint32_t count, uint32_t number);

  const unsigned char* base_ = nullptr;
  const unsigned char* messages_ = nullptr;
  const unsigned char* fields_ = nullptr;
  const unsigned char* enums_ = nullptr;
  const unsigned char* enum_values_ = nullptr;
};

constexpr Image Image::from_trusted(const unsigned char* bytes) {
  Image image;
  image.base_ = bytes;
  image.messages_ = bytes + word(bytes + offsetof(ImageHeader, messages));
  image.fields_ = bytes + word(bytes + offsetof(ImageHeader, fields));
  image.enums_ = bytes + word(bytes + offsetof(ImageHeader, enums));
  image.enum_values_ = bytes + word(bytes + offsetof(ImageHeader, enum_values));
  return image;
}

// CRC-32 (IEEE 802.3) of an image whose checksum word counts as zero.
uint32_t image_checksum(const unsigned char* bytes, size_t size);

}  // namespace drover::schema
