// The decoder on repeated fields, packed or not, and on maps.
#include <algorithm>

#include "codec/decoder.h"
#include "message/operations.h"

namespace drover {

using schema::Kind;

// True if the tag `tag`, in its shortest form, comes next inside the same buffer and message.
inline bool Decoder::next_is(const char* p, uint32_t tag, int* tag_size) {
  if (!input_.inside(p)) return false;
  if (tag < 0x80) {
    *tag_size = 1;
    return static_cast<uint8_t>(*p) == tag;
  }
  if (tag >= 0x4000) return false;
  *tag_size = 2;
  return raw::load<uint16_t>(p) == ((tag & 0x7f) | 0x80 | (tag >> 7) << 8);
}

bool Decoder::grow(raw::Words* repeated, uint32_t wanted, const FieldEntry& field, const char* p) {
  bool strings = schema::is_string_kind(field.kind), pointers = schema::is_message_kind(field.kind);
  size_t element_size = schema::kStorageOfKind[field.kind];
  if (wanted > 1u << 30) return fail(DecodeError::too_large, p), false;
  uint32_t cls = std::max(3u, static_cast<uint32_t>(std::bit_width(wanted - 1)) + 1);
  uint32_t capacity = 1u << (cls - 1), kept = repeated->data == 0 ? 0 : repeated->capacity();
  size_t prefix = strings ? sizeof(OwnerWord) : 0;
  auto* block = static_cast<char*>(arena_.allocate_recycled(prefix + capacity * element_size));
  if (block == nullptr) return fail(DecodeError::out_of_memory, p), false;
  if (strings) raw::store(block, owner_);
  char* to = block + prefix;
  char* from = repeated->begin();
  if (kept != 0) std::memcpy(to, from, kept * element_size);
  if (strings || pointers) {
    std::memset(to + kept * element_size, 0, (capacity - kept) * element_size);
    int64_t delta = to - from;
    for (uint32_t i = 0; i < kept; ++i) {  // what is self-relative has moved by delta
      auto* relative = reinterpret_cast<raw::Pointer*>(to + i * element_size);
      if (relative->offset != 0) relative->offset -= delta;
    }
  }
  if (kept != 0) arena_.recycle(from - prefix, prefix + kept * element_size);
  repeated->set_begin(to);
  repeated->meta = (repeated->meta & ~raw::Words::kClassMask) | cls << raw::Words::kClassShift;
  return true;
}

// Unpacked varints of one field, as many as follow each other; size and place are kept in registers meanwhile.
template <uint8_t kKind>
const char* Decoder::repeated_varints(const char* p, raw::Words* to, const FieldEntry& field, uint32_t tag) {
  constexpr uint32_t kElementSize = schema::kStorageOfKind[kKind];
  uint32_t size = to->size, capacity = to->capacity();
  char* elements = to->begin();
  int tag_size = 0;
  do {
    p += tag_size;
    uint64_t value;
    const char* behind = wire::read_varint(p, &value);
    if (behind == nullptr) [[unlikely]] {
      to->size = size;
      return fail(DecodeError::overlong_varint, p);
    }
    if (size == capacity) [[unlikely]] {
      to->size = size;
      if (!grow(to, size + 1, field, p)) return nullptr;
      capacity = to->capacity();
      elements = to->begin();
    }
    p = behind;
    store_varint(elements + size_t{size++} * kElementSize, kKind, value);
  } while (next_is(p, tag, &tag_size));
  to->size = size;
  return p;
}

const char* Decoder::repeated(const char* p, char* object, const MessageEntry& entry, const FieldEntry& field,
                              uint32_t tag) {
  if (schema::is_string_kind(field.kind)) return repeated_strings(p, object, field, tag);
  if (schema::is_message_kind(field.kind)) return repeated_messages(p, object, field, tag);
  if (field.wire_type == wire::kVarint && (field.flags & schema::kFieldFlagClosedEnum) == 0) {
    raw::Words* to = raw::words(object, field.offset);
    switch (static_cast<Kind>(field.kind)) {
      case Kind::kBool:
        return repeated_varints<static_cast<uint8_t>(Kind::kBool)>(p, to, field, tag);
      case Kind::kSint32:
        return repeated_varints<static_cast<uint8_t>(Kind::kSint32)>(p, to, field, tag);
      case Kind::kSint64:
        return repeated_varints<static_cast<uint8_t>(Kind::kSint64)>(p, to, field, tag);
      case Kind::kInt64:
      case Kind::kUint64:
        return repeated_varints<static_cast<uint8_t>(Kind::kUint64)>(p, to, field, tag);
      default:
        return repeated_varints<static_cast<uint8_t>(Kind::kUint32)>(p, to, field, tag);
    }
  }
  for (;;) {
    p = repeated_scalar(p, object, entry, field);
    int tag_size;
    if (p == nullptr || !next_is(p, tag, &tag_size)) return p;
    p += tag_size;
  }
}

const char* Decoder::repeated_scalar(const char* p, char* object, const MessageEntry& entry, const FieldEntry& field) {
  raw::Words* to = raw::words(object, field.offset);
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  uint64_t value = 0;
  if (field.wire_type == wire::kVarint) {
    const char* behind = wire::read_varint(p, &value);
    if (behind == nullptr) return fail(DecodeError::overlong_varint, p);
    p = behind;
    if ((field.flags & schema::kFieldFlagClosedEnum) != 0 && !keeps_enum(object, entry, field, value)) {
      return append_unknown_varint(object, wire::make_tag(field.number, wire::kVarint), value, p) ? p : nullptr;
    }
  }
  if (to->size == to->capacity() && !grow(to, to->size + 1, field, p)) return nullptr;
  char* at = to->begin() + size_t{to->size++} * element_size;
  if (field.wire_type == wire::kVarint) {
    store_varint(at, field.kind, value);
    return p;
  }
  std::memcpy(at, p, element_size);
  return p + element_size;
}

const char* Decoder::repeated_strings(const char* p, char* object, const FieldEntry& field, uint32_t tag) {
  raw::Words* to = raw::words(object, field.offset);
  bool check_utf8 = (field.flags & schema::kFieldFlagUtf8) != 0;
  for (;;) {
    if (to->size == to->capacity() && !grow(to, to->size + 1, field, p)) return nullptr;
    auto* element = reinterpret_cast<raw::Words*>(to->begin()) + to->size;
    p = string(p, element, check_utf8);
    if (p == nullptr) return nullptr;
    ++to->size;
    int tag_size;
    if (!next_is(p, tag, &tag_size)) return p;
    p += tag_size;
    if (pending_nul_ != nullptr) write_pending_nul();
  }
}

const char* Decoder::repeated_messages(const char* p, char* object, const FieldEntry& field, uint32_t tag) {
  raw::Words* to = raw::words(object, field.offset);
  const MessageEntry& entry = image_.message(field.sub);
  for (;;) {
    if (to->size == to->capacity() && !grow(to, to->size + 1, field, p)) return nullptr;
    auto* pointer = reinterpret_cast<raw::Pointer*>(to->begin()) + to->size;
    char* element = pointer->get();
    if (element == nullptr) {
      element = new_message(entry);
      if (element == nullptr) return fail(DecodeError::out_of_memory, p);
      pointer->set(element);
    } else {  // a cleared element that is kept for reuse
      message::clear({&image_, field.sub}, reinterpret_cast<Message*>(element));
    }
    ++to->size;
    p = enter(p, element, entry, tag);
    if (p == nullptr) return nullptr;
    int tag_size;
    if (!next_is(p, tag, &tag_size)) return p;
    p += tag_size;
    if (pending_nul_ != nullptr) write_pending_nul();
  }
}

// ---- packed

const char* Decoder::packed(const char* p, char* object, const MessageEntry& entry, const FieldEntry& field) {
  uint32_t size;
  p = length(p, &size);
  if (p == nullptr || size == 0) return p;
  raw::Words* to = raw::words(object, field.offset);
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  if (field.wire_type != wire::kVarint) {
    uint32_t count = size / element_size;
    if (size % element_size != 0) return fail(DecodeError::truncated, p);
    if (to->data == 0) {  // exactly as many as there are
      char* fresh = static_cast<char*>(arena_.allocate(size));
      if (fresh == nullptr) return fail(DecodeError::out_of_memory, p);
      to->set_begin(fresh);
    } else if (count > to->capacity() - to->size && !grow(to, to->size + count, field, p)) {
      return nullptr;
    }
    char* at = to->begin() + size_t{to->size} * element_size;
    to->size += count;
    return input_.copy(p, at, size);
  }
  bool closed = (field.flags & schema::kFieldFlagClosedEnum) != 0;
  if (!closed && input_.contiguous(p) >= static_cast<int64_t>(size) + Input::kSlop) {
    if (static_cast<signed char>(p[size - 1]) < 0) return fail(DecodeError::truncated, p + size);
    uint32_t count = 0;  // of last bytes of a varint: no more elements than that will be stored
    for (uint32_t i = 0; i < size; ++i) count += static_cast<signed char>(p[i]) >= 0;
    if (count > to->capacity() - to->size && !grow(to, to->size + count, field, p)) return nullptr;
    return packed_varints_exact(p, to, field.kind, size, count);
  }
  int64_t outer = input_.push_limit(p, size);
  while (!input_.done(&p)) {
    uint64_t value;
    const char* behind = wire::read_varint(p, &value);
    if (behind == nullptr) return fail(DecodeError::overlong_varint, p);
    p = behind;
    if (closed && !keeps_enum(object, entry, field, value)) {
      if (!append_unknown_varint(object, wire::make_tag(field.number, wire::kVarint), value, p)) return nullptr;
      continue;
    }
    if (to->size == to->capacity() && !grow(to, to->size + 1, field, p)) return nullptr;
    store_varint(to->begin() + size_t{to->size++} * element_size, field.kind, value);
  }
  if (p == nullptr) return fail_past_limit();
  input_.pop_limit(outer);
  return p;
}

// Varints from p to end, stored behind each other from `at` on; how many there are is known to fit. kLong: lengths
// differ too much for the branches of read_varint to be predicted, so each is read the branch-free way.
template <uint8_t kKind, bool kLong>
static const char* read_varints_as(const char* p, const char* end, char* at, char** stored_end) {
  constexpr uint32_t kElementSize = schema::kStorageOfKind[kKind];
  while (p < end) {
    uint64_t value;
    p = kLong ? wire::read_varint_long(p, &value) : wire::read_varint(p, &value);
    if (p == nullptr) [[unlikely]]
      return nullptr;
    store_varint(at, kKind, value);
    at += kElementSize;
  }
  *stored_end = at;
  return p;
}

template <uint8_t kKind>
static const char* read_varints(const char* p, const char* end, bool mixed, char* at, char** stored_end) {
  return mixed ? read_varints_as<kKind, true>(p, end, at, stored_end)
               : read_varints_as<kKind, false>(p, end, at, stored_end);
}

// `size` readable bytes that hold `count` varints, for which there is room already.
const char* Decoder::packed_varints_exact(const char* p, raw::Words* to, uint8_t kind, uint32_t size, uint32_t count) {
  const char* end = p + size;
  uint32_t element_size = schema::kStorageOfKind[kind];
  char* at = to->begin() + size_t{to->size} * element_size;
  char* stored_end = at;
  bool mixed = size > count + count / 4;
  const char* behind;
  switch (static_cast<Kind>(kind)) {
    case Kind::kBool:
      behind = read_varints<static_cast<uint8_t>(Kind::kBool)>(p, end, mixed, at, &stored_end);
      break;
    case Kind::kSint32:
      behind = read_varints<static_cast<uint8_t>(Kind::kSint32)>(p, end, mixed, at, &stored_end);
      break;
    case Kind::kSint64:
      behind = read_varints<static_cast<uint8_t>(Kind::kSint64)>(p, end, mixed, at, &stored_end);
      break;
    case Kind::kInt64:
    case Kind::kUint64:
      behind = read_varints<static_cast<uint8_t>(Kind::kUint64)>(p, end, mixed, at, &stored_end);
      break;
    default:
      behind = read_varints<static_cast<uint8_t>(Kind::kUint32)>(p, end, mixed, at, &stored_end);
      break;
  }
  if (behind == nullptr) return fail(DecodeError::overlong_varint, p);
  to->size += static_cast<uint32_t>(stored_end - at) / element_size;
  return behind;
}

// ---- maps

const char* Decoder::map_entry(const char* p, char* object, const FieldEntry& field) {
  const MessageEntry& entry = image_.message(field.sub);
  const schema::FieldRange fields = image_.fields(entry);
  const FieldEntry &key = fields[0], &value = fields[1];
  char* added = new_message(entry);
  if (added == nullptr) return fail(DecodeError::out_of_memory, p);
  p = enter(p, added, entry, wire::make_tag(field.number, wire::kLengthDelimited));
  if (p == nullptr) return nullptr;
  reinterpret_cast<MessageHeader*>(added)->unknown = 0;  // dropped
  if ((value.flags & schema::kFieldFlagClosedEnum) != 0 &&
      !image_.enum_has_value(value.sub, raw::load<int32_t>(added + value.offset))) {
    return append_unknown_entry(object, field, added, p) ? p : nullptr;
  }
  auto* map = reinterpret_cast<MapBase*>(object + field.offset);
  if (!map->insert_entry(&arena_, added, key.offset, raw::map_key_kind(key))) {
    return fail(DecodeError::out_of_memory, p);
  }
  return p;
}

}  // namespace drover
