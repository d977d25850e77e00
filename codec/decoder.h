// The decoder's state and its pieces, private to codec/: decode.cc reads known fields, decode_repeated.cc repeated
// ones and maps, decode_unknown.cc the rest. Every function that takes a position `p` returns the position behind
// what it read, or null after fail().
#pragma once

#include "codec/decode.h"
#include "codec/input.h"
#include "codec/utf8.h"
#include "codec/wire.h"
#include "message/raw.h"

namespace drover {

#define DROVER_INLINE inline __attribute__((always_inline))
#define DROVER_NOINLINE __attribute__((noinline))

class Decoder {
 public:
  Decoder(const schema::Image& image, Arena& arena, const DecodeOptions& options)
      : image_(image),
        arena_(arena),
        options_(options),
        depth_(options.depth_limit),
        owner_(options.received ? kReceived : reinterpret_cast<OwnerWord>(&arena)) {}

  DecodeResult run(uint32_t message_index, char* object, std::span<const std::string_view> pieces, size_t total);

 private:
  using FieldEntry = schema::FieldEntry;
  using MessageEntry = schema::MessageEntry;

  // What a field means to the main loop: kind and label in one number.
  static constexpr uint32_t kOps = 3 * schema::kKindCount;
  static constexpr uint32_t op(schema::Kind kind, uint32_t label) {
    return static_cast<uint32_t>(kind) + label * schema::kKindCount;
  }

  // ---- decode.cc
  // Fields until the innermost limit, or until the tag `end_group` (0 none).
  const char* message(const char* p, char* object, const MessageEntry& entry, uint32_t end_group);
  // The body of a sub-message: behind its length, or behind a start-group tag. `tag` as read.
  const char* enter(const char* p, char* object, const MessageEntry& entry, uint32_t tag);
  DROVER_INLINE const char* length(const char* p, uint32_t* size);  // checked against the limit
  const char* length_long(const char* p, uint32_t* size);
  const char* bad_tag(uint32_t tag, const char* start, const char* behind);
  DROVER_INLINE const char* string(const char* p, raw::Words* to, bool check_utf8);
  const char* string_copy(const char* p, raw::Words* to, uint32_t size, bool check_utf8);
  bool string_alias(const char* p, raw::Words* to, uint32_t size);
  bool keeps_enum(char* object, const MessageEntry& entry, const FieldEntry& field, uint64_t value);
  void note_presence(char* object, const FieldEntry& field);
  char* sub_object(char* object, const FieldEntry& field, const MessageEntry& entry, uint64_t has);
  DROVER_INLINE char* new_message(const MessageEntry& entry);
  void write_pending_nul() {
    *pending_nul_ = '\0';
    pending_nul_ = nullptr;
  }

  // ---- decode_repeated.cc
  // One element, and those that follow it with the same tag.
  const char* repeated(const char* p, char* object, const MessageEntry& entry, const FieldEntry& field, uint32_t tag);
  const char* repeated_scalar(const char* p, char* object, const MessageEntry& entry, const FieldEntry& field);
  template <uint8_t kKind>
  const char* repeated_varints(const char* p, raw::Words* to, const FieldEntry& field, uint32_t tag);
  const char* repeated_strings(const char* p, char* object, const FieldEntry& field, uint32_t tag);
  const char* repeated_messages(const char* p, char* object, const FieldEntry& field, uint32_t tag);
  const char* packed(const char* p, char* object, const MessageEntry& entry, const FieldEntry& field);
  const char* packed_fixed(const char* p, raw::Words* to, uint32_t size, uint32_t element_size);
  const char* packed_varints_exact(const char* p, raw::Words* to, uint8_t kind, uint32_t size, uint32_t count);
  const char* map_entry(const char* p, char* object, const FieldEntry& field);
  // Room for `wanted` elements; false after fail(out_of_memory). An error's position is `p`.
  bool grow(raw::Words* repeated, uint32_t wanted, const FieldEntry& field, const char* p);
  DROVER_INLINE bool next_is(const char* p, uint32_t tag, int* tag_size);

  // ---- decode_unknown.cc
  const char* unknown_field(const char* p, char* object, uint32_t tag);  // p is behind the tag
  const char* unknown_group(const char* p, char* object, uint32_t tag);
  // Makes the object's unknown bytes longer by `size`; where to write them. Null after fail().
  char* extend_unknown(char* object, size_t size, const char* p);
  bool append_unknown_varint(char* object, uint32_t tag, uint64_t value, const char* p);
  // A map entry whose enum value is unknown, written out as a field of `object`.
  bool append_unknown_entry(char* object, const FieldEntry& field, const char* map_entry, const char* p);

  const char* fail(DecodeError error, const char* p);  // null
  const char* fail_past_limit();

  Input input_;
  const schema::Image& image_;
  Arena& arena_;
  const DecodeOptions& options_;
  int depth_;
  OwnerWord owner_;
  char* pending_nul_ = nullptr;
  DecodeError error_ = DecodeError::ok;
  size_t error_offset_ = 0;
  const MessageEntry* error_message_ = nullptr;
  uint32_t error_field_ = 0;
};

inline const char* Decoder::length(const char* p, uint32_t* size) {
  *size = static_cast<uint8_t>(*p);
  if (*size >= 0x80) [[unlikely]] {
    uint32_t slow = 0;  // so that the caller's size can stay in a register
    p = length_long(p, &slow);
    *size = slow;
    return p;
  }
  ++p;
  if (static_cast<int64_t>(*size) > input_.left(p)) [[unlikely]] {
    return input_.left(p) < 0 ? fail_past_limit() : fail(DecodeError::length_past_end, p - 1);
  }
  return p;
}

inline char* Decoder::new_message(const MessageEntry& entry) {
  char* object = static_cast<char*>(arena_.allocate(entry.object_size));
  if (object == nullptr) [[unlikely]]
    return nullptr;
  std::memset(object, 0, entry.object_size);
  raw::store(object, owner_);
  return object;
}

// Fresh short strings are copied here, 16 bytes at once; all else out of line.
inline const char* Decoder::string(const char* p, raw::Words* to, bool check_utf8) {
  uint32_t size;
  p = length(p, &size);
  if (p == nullptr) [[unlikely]]
    return nullptr;
  if (options_.alias && size >= options_.min_alias_size && string_alias(p, to, size)) {
    if (check_utf8 && !is_valid_utf8(to->begin(), size)) [[unlikely]]
      return fail(DecodeError::bad_utf8, p);
    return input_.copy(p, nullptr, size);
  }
  if (size < 16 && to->data == 0 && size != 0 && input_.contiguous(p) >= 16) {
    char* bytes = static_cast<char*>(arena_.allocate(16));
    if (bytes == nullptr) [[unlikely]]
      return fail(DecodeError::out_of_memory, p);
    std::memcpy(bytes, p, 16);
    bytes[size] = '\0';
    to->set_begin(bytes);
    to->size = size;
    if (check_utf8 && !is_valid_utf8(bytes, size)) [[unlikely]]
      return fail(DecodeError::bad_utf8, p);
    return p + size;
  }
  return string_copy(p, to, size, check_utf8);
}

// How a varint of a kind is stored: zigzag undone, cut to the field's width.
DROVER_INLINE void store_varint(char* at, uint8_t kind, uint64_t value) {
  switch (static_cast<schema::Kind>(kind)) {
    case schema::Kind::kBool:
      *at = value != 0;
      break;
    case schema::Kind::kSint32:
      raw::store(at, wire::unzigzag32(static_cast<uint32_t>(value)));
      break;
    case schema::Kind::kSint64:
      raw::store(at, wire::unzigzag(value));
      break;
    case schema::Kind::kInt64:
    case schema::Kind::kUint64:
      raw::store<uint64_t>(at, value);
      break;
    default:
      raw::store<uint32_t>(at, static_cast<uint32_t>(value));
      break;
  }
}

}  // namespace drover
