// The decoder on repeated fields, packed or not, and on maps.
#pragma once

#include "codec/decode/decode_lookup.h"
#include "codec/decode/packed_varints.h"
#include "message/clear.h"

namespace drover {

// True if the tag `tag`, in its shortest form, comes next inside the same buffer and message.
template <typename Memory>
DROVER_INLINE bool Decoder<Memory>::next_is(const char* p, uint32_t tag, int* tag_size) {
  if (!input_.inside(p)) return false;
  if (tag < 0x80) {
    *tag_size = 1;
    return static_cast<uint8_t>(*p) == tag;
  }
  if (tag >= 0x4000) return false;
  *tag_size = 2;
  return raw::load<uint16_t>(p) == ((tag & 0x7f) | 0x80 | (tag >> 7) << 8);
}

// A lower bound, at least 1, of how many consecutive elements with a length and this tag (of tag_size bytes, as on the
// wire) begin at p. The array is then allocated once, and no longer than needed.
template <typename Memory>
DROVER_NOINLINE uint32_t Decoder<Memory>::count_run(const char* p, uint32_t tag_size, uint32_t tag) const {
  constexpr uint32_t kMost = 1024;
  int64_t left = input_.left(p), here = input_.contiguous(p) - Input::kSlop;
  if (here < left) left = here;
  uint32_t count = 0;
  while (count < kMost) {
    ++count;
    uint32_t size;
    const char* behind = short_length(p + tag_size, &size);
    if (behind == nullptr) break;
    left -= behind - p + int64_t{size};
    if (left <= 0) break;
    p = behind + size;
    uint32_t next = raw::load<uint16_t>(p);
    if ((tag_size == 1 ? next & 0xff : next) != tag) break;
  }
  return count;
}

// `kept` elements to their new place, and room for more behind them, up to `capacity`. Strings and pointers are
// relative to where they stand, and begin as zeros.
DROVER_INLINE void move_elements(char* to, const char* from, uint32_t kept, uint32_t capacity, size_t element_size,
                                 bool relative) {
  if (relative) zero(to + kept * element_size, (capacity - kept) * element_size);
  if (kept != 0) std::memcpy(to, from, kept * element_size);
  if (relative && kept != 0) {
    int64_t delta = to - from;
    for (uint32_t i = 0; i < kept; ++i) {
      auto* element = reinterpret_cast<raw::Pointer*>(to + i * element_size);
      if (element->offset != 0) element->offset -= delta;
    }
  }
}

// False: reading is stopped.
template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::move_in_slices(char* to, const char* from, uint32_t kept, uint32_t capacity,
                                                     size_t element_size, bool relative) {
  for (uint32_t at = 0; at < capacity; at += kMovedAtOnce) {
    const uint32_t count = capacity - at < kMovedAtOnce ? capacity - at : kMovedAtOnce;
    const uint32_t here = at >= kept ? 0 : kept - at < count ? kept - at : count;
    move_elements(to + at * element_size, here == 0 ? nullptr : from + at * element_size, here, count, element_size,
                  relative);
    if (!input_.go_on()) return false;
  }
  return true;
}

template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::grow(raw::Words* repeated, uint32_t wanted, const FieldEntry& field,
                                           const char* p) {
  bool strings = schema::is_string_kind(field.kind), pointers = schema::is_message_kind(field.kind);
  size_t element_size = schema::kStorageOfKind[field.kind];
  if (wanted > 1u << 30) return fail(DecodeError::kTooLarge, p), false;
  uint32_t cls = static_cast<uint32_t>(std::bit_width(wanted - 1)) + 1;
  if (cls < 3 && !strings && !pointers) cls = 3;  // of those, the number is known
  uint32_t capacity = 1u << (cls - 1), kept = repeated->data == 0 ? 0 : repeated->capacity();
  size_t prefix = strings ? sizeof(OwnerWord) : 0;
  if (capacity > (SIZE_MAX / 2 - prefix) / element_size) return fail(DecodeError::kOutOfMemory, p), false;
  auto* block = static_cast<char*>(arena_.allocate_recycled(prefix + capacity * element_size));
  if (block == nullptr) return fail(DecodeError::kOutOfMemory, p), false;
  if (strings) raw::store(block, owner_);
  char* to = block + prefix;
  char* from = repeated->begin();
  if (input_.pauses() && capacity > kMovedAtOnce) [[unlikely]] {
    if (!move_in_slices(to, from, kept, capacity, element_size, strings || pointers)) return false;
  } else {
    move_elements(to, from, kept, capacity, element_size, strings || pointers);
  }
  if (kept != 0) arena_.recycle(from - prefix, prefix + kept * element_size);
  repeated->set_begin(to);
  repeated->meta = (repeated->meta & ~raw::Words::kClassMask) | cls << raw::Words::kClassShift;
  return true;
}

// Nothing else is allocated while the elements of one run are read: their array becomes longer where it is.
template <typename Memory>
template <uint32_t kElementSize>
DROVER_NOINLINE bool Decoder<Memory>::grow_scalars(raw::Words* repeated, const FieldStep* step, const char* p) {
  constexpr uint32_t kFirstClass = 4;  // eight elements
  uint32_t cls = repeated->storage_class();
  if (cls == 0 && repeated->size == 0) {
    char* block = arena_.try_allocate(kElementSize << (kFirstClass - 1), 0);
    if (block != nullptr) [[likely]] {
      repeated->set_begin(block);
      repeated->meta |= kFirstClass << raw::Words::kClassShift;
      return true;
    }
  } else if (cls != 0 && cls < 30) {
    size_t bytes = size_t{kElementSize} << (cls - 1);
    if (arena_.try_extend(repeated->begin(), bytes, 2 * bytes)) {
      repeated->meta += 1u << raw::Words::kClassShift;
      return true;
    }
  }
  return grow(repeated, repeated->size + 1, field_at(step), p);
}

// Consecutive unpacked varints of one field: `next` says whether another one follows, and the size of its tag. Size and
// place are kept in registers meanwhile.
template <typename Memory>
template <uint32_t kOp, typename Next>
DROVER_INLINE const char* Decoder<Memory>::repeated_varints(const char* p, char* object, raw::Words* to,
                                                            const FieldStep* step, Next next) {
  constexpr uint32_t kElementSize = kVarintStorage<kOp>;
  uint32_t size = to->size, capacity = to->capacity();
  char* elements = to->begin();
  int tag_size = 0;
  do {
    p += tag_size;
    uint64_t value;
    const char* behind = wire::read_varint(p, &value);
    if (behind == nullptr) [[unlikely]] {
      to->size = size;
      return fail(DecodeError::kOverlongVarint, p);
    }
    if constexpr (kOp == schema::kOpClosedEnum) {
      const FieldEntry& field = field_at(step);
      if (!enum_knows(field, value)) {
        p = behind;
        to->size = size;
        if (!append_unknown_varint(object, wire::make_tag(field.number, wire::kVarint), value, p)) return nullptr;
        continue;
      }
    }
    if (size == capacity) [[unlikely]] {
      to->size = size;
      if (!grow_scalars<kElementSize>(to, step, p)) return nullptr;
      capacity = to->capacity();
      elements = to->begin();
    }
    p = behind;
    store_varint<kOp>(elements + size_t{size++} * kElementSize, value);
  } while (next(p, &tag_size));
  to->size = size;
  return p;
}

template <typename Memory>
template <typename Element, typename Next>
DROVER_INLINE const char* Decoder<Memory>::repeated_fixed(const char* p, raw::Words* to, const FieldStep* step,
                                                          Next next) {
  int tag_size = 0;
  do {
    p += tag_size;
    if (to->size == to->capacity() && !grow_scalars<sizeof(Element)>(to, step, p)) [[unlikely]]
      return nullptr;
    raw::store(to->begin() + size_t{to->size++} * sizeof(Element), raw::load<Element>(p));
    p += sizeof(Element);
  } while (next(p, &tag_size));
  return p;
}

template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::repeated(const char* p, char* object, const FieldStep* step,
                                                      uint32_t tag) {
  const FieldEntry& field = field_at(step);
  raw::Words* to = raw::words(object, field.offset);
  auto next = [this, tag](const char* at, int* tag_size) { return next_is(at, tag, tag_size); };
  switch (schema::op_class(field.kind, false, (field.flags & schema::kFieldFlagClosedEnum) != 0)) {
    case schema::kOpBool:
      return repeated_varints<schema::kOpBool>(p, object, to, step, next);
    case schema::kOpSint32:
      return repeated_varints<schema::kOpSint32>(p, object, to, step, next);
    case schema::kOpSint64:
      return repeated_varints<schema::kOpSint64>(p, object, to, step, next);
    case schema::kOpVarint64:
      return repeated_varints<schema::kOpVarint64>(p, object, to, step, next);
    case schema::kOpClosedEnum:
      return repeated_varints<schema::kOpClosedEnum>(p, object, to, step, next);
    case schema::kOpFixed32:
      return repeated_fixed<uint32_t>(p, to, step, next);
    case schema::kOpFixed64:
      return repeated_fixed<uint64_t>(p, to, step, next);
    case schema::kOpBytes:
      return repeated_strings(p, object, field, tag);
    default:
      return repeated_varints<schema::kOpUint32>(p, object, to, step, next);
  }
}

template <typename Memory>
const char* Decoder<Memory>::repeated_strings(const char* p, char* object, const FieldEntry& field, uint32_t tag) {
  raw::Words* to = raw::words(object, field.offset);
  bool check_utf8 = (field.flags & schema::kFieldFlagUtf8) != 0;
  int tag_size = 0;
  do {
    p += tag_size;
    if (to->size == to->capacity() && !grow(to, to->size + 1, field, p)) return nullptr;
    auto* element = reinterpret_cast<raw::Words*>(to->begin()) + to->size;
    p = string(p, element, check_utf8);
    if (p == nullptr) return nullptr;
    ++to->size;
  } while (next_is(p, tag, &tag_size));
  return p;
}

// A new, empty element at the end of the repeated field `at`; a cleared element is reused. p is at the element's
// length; its tag is in front if tag_size is not 0.
template <typename Memory>
char* Decoder<Memory>::add_message(const char* p, char* at, const FieldEntry& field, uint32_t tag_size, uint32_t tag) {
  auto* to = reinterpret_cast<raw::Words*>(at);
  if (to->size == to->capacity()) {
    bool counted = tag_size != 0 && field.kind != static_cast<uint8_t>(Kind::kGroup);
    uint32_t more = counted ? count_run(p - tag_size, tag_size, tag) : to->size + 1;
    if (!grow(to, to->size + more, field, p)) return nullptr;
  }
  auto* pointer = reinterpret_cast<raw::Pointer*>(to->begin()) + to->size;
  char* element = pointer->get();
  if (element == nullptr) [[likely]] {
    element = new_message(image_.message(field.sub));
    if (element == nullptr) {
      fail(DecodeError::kOutOfMemory, p);
      return nullptr;
    }
    pointer->set(element);
  } else {
    // The memory of a received element belongs to its sender and is not recycled.
    bool owned = raw::load<OwnerWord>(element) > kReceived;
    message::clear_content({&image_, field.sub}, element, owned ? &arena_ : nullptr);
  }
  ++to->size;
  return element;
}

// ---- packed

template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::packed(const char* p, char* object, const FieldEntry& field) {
  uint32_t size;
  p = length(p, &size);
  if (p == nullptr || size == 0) return p;
  raw::Words* to = raw::words(object, field.offset);
  if (field.wire_type != wire::kVarint) return packed_fixed(p, to, field, size);
  // Read at one go as far as it lies in one piece with 16 readable bytes behind; the rest, if any, one by one.
  bool closed = (field.flags & schema::kFieldFlagClosedEnum) != 0;
  int64_t at_once = input_.contiguous(p) - Input::kSlop;
  if (!closed && input_.pauses() && size > input_.reach()) return packed_in_slices(p, object, field, size);
  if (closed || at_once < 32) return packed_varints_slow(p, object, field, size);
  if (at_once >= static_cast<int64_t>(size)) return packed_varints(p, to, field, size, 0);
  while (at_once > 0 && static_cast<signed char>(p[at_once - 1]) < 0) --at_once;
  auto first = static_cast<uint32_t>(at_once);
  if (first != 0) p = packed_varints(p, to, field, first, size - first);
  return p == nullptr ? nullptr : packed_varints_slow(p, object, field, size - first);
}

template <typename Memory>
const char* Decoder<Memory>::packed_fixed(const char* p, raw::Words* to, const FieldEntry& field, uint32_t size) {
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  uint32_t count = size / element_size;
  if (size % element_size != 0) return fail(DecodeError::kTruncated, p);
  if (to->data == 0) {  // an array of exactly that size
    char* fresh = static_cast<char*>(arena_.allocate(size));
    if (fresh == nullptr) return fail(DecodeError::kOutOfMemory, p);
    to->set_begin(fresh);
  } else if (count > to->capacity() - to->size && !grow(to, to->size + count, field, p)) {
    return nullptr;
  }
  char* at = to->begin() + size_t{to->size} * element_size;
  to->size += count;
  return input_.copy(p, at, size);
}

// `size` readable bytes, and 16 more behind them. At most `more` elements will follow.
template <typename Memory>
const char* Decoder<Memory>::packed_varints(const char* p, raw::Words* to, const FieldEntry& field, uint32_t size,
                                            uint32_t more) {
  if (static_cast<signed char>(p[size - 1]) < 0) return fail(DecodeError::kTruncated, p + size);
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  uint32_t count = count_varints(p, size);
  if (count + more > to->capacity() - to->size && !grow(to, to->size + count + more, field, p)) return nullptr;
  char* at = to->begin() + size_t{to->size} * element_size;
  PackedResult result = read_packed_varints(schema::op_class(field.kind, false, false), p, size, at, count);
  if (result.error_at != nullptr) return fail(DecodeError::kOverlongVarint, result.error_at);
  to->size += count;
  return p + size;
}

// As packed_varints, of which each part takes a slice of the time. The array is allocated once: all are counted before.
template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::packed_in_slices(const char* p, char* object, const FieldEntry& field,
                                                              uint32_t size) {
  const auto slice = static_cast<uint32_t>(input_.slice()), reach = static_cast<uint32_t>(input_.reach());
  const int64_t readable = input_.left_of_piece(p) - Input::kSlop;
  const uint32_t whole = readable < 0 ? 0 : readable < int64_t{size} ? static_cast<uint32_t>(readable) : size;
  uint32_t count = size - whole;
  for (uint32_t at = 0; at < whole; at += reach) {
    count += count_varints(p + at, whole - at < reach ? whole - at : reach);
    if (!input_.go_on()) return nullptr;
  }
  raw::Words* to = raw::words(object, field.offset);
  if (count > to->capacity() - to->size && !grow(to, to->size + count, field, p)) return nullptr;
  const char* const end = p + whole;
  while (end - p > 0) {
    auto part = static_cast<uint32_t>(end - p < int64_t{slice} ? end - p : slice);
    while (part > 0 && static_cast<signed char>(p[part - 1]) < 0) --part;
    if (part == 0) break;  // a varint that goes on behind `end`, or is too long
    size -= part;
    p = packed_varints(p, to, field, part, 0);
    if (p == nullptr || !input_.go_on()) return nullptr;
  }
  return size == 0 ? p : packed_varints_slow(p, object, field, size);
}

template <typename Memory>
const char* Decoder<Memory>::packed_varints_slow(const char* p, char* object, const FieldEntry& field, uint32_t size) {
  raw::Words* to = raw::words(object, field.offset);
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  bool closed = (field.flags & schema::kFieldFlagClosedEnum) != 0;
  int64_t outer = input_.push_limit(p, size);
  while (!input_.done(&p)) {
    uint64_t value;
    const char* behind = wire::read_varint(p, &value);
    if (behind == nullptr) return fail(DecodeError::kOverlongVarint, p);
    p = behind;
    if (closed && !enum_knows(field, value)) {
      if (!append_unknown_varint(object, wire::make_tag(field.number, wire::kVarint), value, p)) return nullptr;
      continue;
    }
    if (to->size == to->capacity() && !grow(to, to->size + 1, field, p)) return nullptr;
    store_varint_of(schema::op_class(field.kind, false, false), to->begin() + size_t{to->size++} * element_size, value);
  }
  if (p == nullptr) return fail_past_limit();
  input_.pop_limit(outer);
  return p;
}

// ---- maps

// The entry `added` is whole; it goes into the map, or, with a value that a closed enum does not know, to the unknown
// fields of `object`. What the entry itself did not know is dropped.
template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::end_map_entry(const char* p, char* object, const FieldEntry& field, char* added) {
  const schema::FieldRange fields = image_.fields(image_.message(field.sub));
  const FieldEntry &key = fields[0], &value = fields[1];
  reinterpret_cast<MessageHeader*>(added)->unknown = 0;
  if ((value.flags & schema::kFieldFlagClosedEnum) != 0 &&
      !image_.enum_has_value(value.sub, raw::load<int32_t>(added + value.offset))) {
    return append_unknown_entry(object, field, added, p);
  }
  auto* map = reinterpret_cast<MapBase*>(object + field.offset);
  if (input_.pauses()) [[unlikely]] {  // a large array grows here, with pauses
    raw::Words* entries = raw::words(object, field.offset);
    const uint32_t size = entries->size;
    if (size >= kMovedAtOnce && size == entries->capacity() && !grow(entries, size + 1, field, p)) return false;
  }
  if (map->insert_entry(&arena_, added, key.offset, raw::map_key_kind(key), options_.pause)) return true;
  return fail(DecodeError::kOutOfMemory, p), false;
}

// ---- handlers: all consecutive elements with the same tag

template <typename Memory>
struct Decoder<Memory>::Runs {
  template <int kTagSize>
  static DROVER_INLINE bool next_is(Decoder* d, const char* p, const FieldStep* step) {
    return d->input_.inside(p) && matches<kTagSize>(step, raw::load<uint16_t>(p));
  }
  template <int kTagSize>
  static DROVER_INLINE auto follows(Decoder* d, const FieldStep* step) {
    return [d, step](const char* at, int* tag_size) {
      *tag_size = kTagSize;
      return next_is<kTagSize>(d, at, step);
    };
  }

  template <uint32_t kOp, int kTagSize>
  static DROVER_DECODE_HANDLER(repeated_varint) {
    DROVER_DECODE_CHECK_TAG();
    p = d->template repeated_varints<kOp>(p + kTagSize, object, words(object, step), step, follows<kTagSize>(d, step));
    if (p == nullptr) [[unlikely]]
      DROVER_DECODE_GO(Dispatch::failed);
    DROVER_DECODE_NEXT();
  }

  template <typename Bits, int kTagSize>
  static DROVER_DECODE_HANDLER(repeated_fixed) {
    DROVER_DECODE_CHECK_TAG();
    p = d->template repeated_fixed<Bits>(p + kTagSize, words(object, step), step, follows<kTagSize>(d, step));
    if (p == nullptr) [[unlikely]]
      DROVER_DECODE_GO(Dispatch::failed);
    DROVER_DECODE_NEXT();
  }

  template <bool kUtf8, int kTagSize>
  static DROVER_DECODE_HANDLER(repeated_string) {
    DROVER_DECODE_CHECK_TAG();
    raw::Words* to = words(object, step);
    uint32_t capacity = to->capacity();
    do {
      if (to->size == capacity) [[unlikely]] {
        uint32_t wanted = capacity + d->count_run(p, kTagSize, step->tag);
        if (!d->grow(to, wanted, d->field_at(step), p)) {
          p = nullptr;
          DROVER_DECODE_GO(Dispatch::failed);
        }
        capacity = to->capacity();
      }
      p += kTagSize;
      auto* element = reinterpret_cast<raw::Words*>(to->begin()) + to->size;
      uint32_t size = static_cast<uint8_t>(*p);
      char* bytes = nullptr;
      if (!d->options_.alias && size < kShortString && element->data == 0) [[likely]]
        bytes = d->copy_short(p, size);
      if (bytes != nullptr && (!kUtf8 || is_ascii_32(bytes, size))) [[likely]] {
        element->set_begin(bytes);
        element->size = size;
        p += 1 + size;
      } else {
        p = d->string(p, element, kUtf8);
        if (p == nullptr) [[unlikely]]
          DROVER_DECODE_GO(Dispatch::failed);
      }
      ++to->size;
    } while (next_is<kTagSize>(d, p, step));
    DROVER_DECODE_NEXT();
  }

  template <int kTagSize>
  static DROVER_DECODE_HANDLER(packed) {
    DROVER_DECODE_CHECK_TAG();
    p = d->packed(p + kTagSize, object, d->field_at(step));
    if (p == nullptr) [[unlikely]]
      DROVER_DECODE_GO(Dispatch::failed);
    DROVER_DECODE_NEXT();
  }
};

}  // namespace drover
