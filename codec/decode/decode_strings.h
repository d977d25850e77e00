// Strings and bytes: copied into the arena, or aliased, which means that they refer to the wire bytes. The handlers
// have the usual cases; `string` and what it calls read any string, at the end of a piece of input or into a used field
// too.
#pragma once

#include "codec/decode/decode_lookup.h"

namespace drover {

template <typename Memory>
struct Decoder<Memory>::Strings {
  // Into memory of its own: here if it is short and the field was empty.
  template <bool kUtf8, int kTagSize>
  static DROVER_DECODE_HANDLER(string_copied) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    uint32_t size = static_cast<uint8_t>(*p);
    raw::Words* to = words(object, step);
    if (size >= kShortString || to->data != 0) [[unlikely]]
      DROVER_DECODE_GO(string_copied_long<kUtf8>);
    char* bytes = d->copy_short(p, size);
    if (bytes == nullptr) [[unlikely]]
      DROVER_DECODE_GO(string_copied_long<kUtf8>);
    ++p;
    to->set_begin(bytes);
    to->size = size;
    has |= has_bit(step);
    if (kUtf8 && !is_ascii_32(bytes, size)) [[unlikely]]
      DROVER_DECODE_GO(check_short_utf8);
    p += size;
    DROVER_DECODE_NEXT();
  }
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(check_short_utf8) {  // p is at the string
    raw::Words* to = words(object, step);
    if (!is_valid_utf8(to->begin(), to->size)) {
      p = d->fail(DecodeError::kBadUtf8, p);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    p += to->size;
    DROVER_DECODE_NEXT();
  }

  // Of any length, into a field that was empty; p is at the length.
  template <bool kUtf8>
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(string_copied_long) {
    raw::Words* to = words(object, step);
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    if (Memory::kPlacesBytes || begin == nullptr || to->data != 0 || size == 0 ||
        static_cast<int64_t>(size) > d->input_.contiguous(begin) || static_cast<int64_t>(size) > d->input_.left(begin))
        [[unlikely]]
      DROVER_DECODE_GO(string_slow<kUtf8>);
    char* bytes = d->arena_.try_allocate(size + 1, 0);
    if (bytes == nullptr) [[unlikely]]
      DROVER_DECODE_GO(string_slow<kUtf8>);
    has |= has_bit(step);
    to->set_begin(bytes);
    to->size = size;
    copy_string(bytes, begin, size);
    bytes[size] = '\0';
    p = begin;
    if (kUtf8 && !is_valid_utf8(bytes, size)) [[unlikely]] {
      p = d->fail(DecodeError::kBadUtf8, p);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    p += size;
    DROVER_DECODE_NEXT();
  }
  // Up to 256 bytes the call of memcpy costs more than the copy. `size` is not 0.
  static DROVER_INLINE void copy_string(char* to, const char* from, size_t size) {
    if (size > 256) {
      std::memcpy(to, from, size);
      return;
    }
    if (size < 32) {
      if (size >= 16) return copy_ends<16>(to, from, size);
      if (size >= 8) return copy_ends<8>(to, from, size);
      if (size >= 4) return copy_ends<4>(to, from, size);
      to[0] = from[0];
      to[size / 2] = from[size / 2];
      to[size - 1] = from[size - 1];
      return;
    }
    char* last = to + size - 32;
    const char* last_from = from + size - 32;
    do {
      std::memcpy(to, from, 32);
      to += 32;
      from += 32;
      asm volatile("" : "+r"(to));  // stays a loop
    } while (to < last);
    std::memcpy(last, last_from, 32);
  }

  // The first and the last kEach bytes of no more than twice as many.
  template <size_t kEach>
  static DROVER_INLINE void copy_ends(char* to, const char* from, size_t size) {
    char first[kEach], last[kEach];
    std::memcpy(first, from, kEach);
    std::memcpy(last, from + size - kEach, kEach);
    std::memcpy(to, first, kEach);
    std::memcpy(to + size - kEach, last, kEach);
  }

  // As a reference to the wire bytes.
  template <bool kUtf8, int kTagSize>
  static DROVER_DECODE_HANDLER(string_aliased) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    raw::Words* to = words(object, step);
    // Well inside the piece: the byte behind the string belongs to it too.
    if (begin == nullptr || static_cast<int64_t>(size) > d->input_.left_inside(begin) || !d->input_.in_piece() ||
        size < d->min_alias_size_) [[unlikely]]
      DROVER_DECODE_GO(string_aliased_near_end<kUtf8>);
    bool terminate = d->options_.terminate_aliases;
    refer(to, begin, size, terminate);
    if (kUtf8 && !is_valid_utf8(begin, size)) [[unlikely]] {
      p = d->fail(DecodeError::kBadUtf8, begin);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    p = begin + size;
    if (terminate) d->terminate_later(const_cast<char*>(p));
    has |= has_bit(step);
    DROVER_DECODE_NEXT();
  }

  static DROVER_INLINE void refer(raw::Words* to, const char* begin, uint32_t size, bool terminate) {
    to->set_begin(begin);
    to->size = size;
    to->meta = (to->meta & ~((1u << raw::Words::kBackShift) - 1)) | raw::Words::kBorrowed |
               (terminate ? 0 : raw::Words::kUnterminated);
  }
  // The string may reach into the piece's last bytes, or may have to be copied; p is at the length.
  template <bool kUtf8>
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(string_aliased_near_end) {
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    if (begin == nullptr || !d->input_.in_piece() || static_cast<int64_t>(size) > d->input_.left(begin) ||
        static_cast<int64_t>(size) > d->input_.contiguous(begin) || size < d->min_alias_size_)
      DROVER_DECODE_GO(string_slow<kUtf8>);
    bool terminate = d->options_.terminate_aliases && begin + size < d->input_.piece_end();
    refer(words(object, step), begin, size, terminate);
    if (kUtf8 && !is_valid_utf8(begin, size)) {
      p = d->fail(DecodeError::kBadUtf8, begin);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    p = begin + size;
    if (terminate) d->terminate_later(const_cast<char*>(p));
    has |= has_bit(step);
    DROVER_DECODE_NEXT();
  }

  template <bool kUtf8>
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(string_slow) {  // p is at the length
    p = d->string(p, words(object, step), kUtf8);
    if (p == nullptr) [[unlikely]]
      DROVER_DECODE_GO(Dispatch::failed);
    has |= has_bit(step);
    DROVER_DECODE_NEXT();
  }
};

// ---- strings, the general case; p is at the length
// Of any length, with pauses: in parts that end between two characters.
template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::valid_utf8(const char* text, size_t size) {
  const auto at_once = static_cast<size_t>(input_.reach());
  while (input_.pauses() && size > at_once) {
    size_t part = at_once;
    while (part > at_once - 4 && (static_cast<uint8_t>(text[part]) & 0xc0) == 0x80) --part;
    if (!is_valid_utf8(text, part) || !input_.go_on()) return false;
    text += part;
    size -= part;
  }
  return is_valid_utf8(text, size);
}

template <typename Memory>
const char* Decoder<Memory>::string(const char* p, raw::Words* to, bool check_utf8) {
  uint32_t size;
  p = length(p, &size);
  if (p == nullptr) [[unlikely]]
    return nullptr;
  if (options_.alias && size >= options_.min_alias_size && string_alias(p, to, size)) {
    if (check_utf8 && !valid_utf8(to->begin(), size)) [[unlikely]]
      return fail(DecodeError::kBadUtf8, p);
    return input_.copy(p, nullptr, size);
  }
  return string_copy(p, to, size, check_utf8);
}

template <typename Memory>
bool Decoder<Memory>::string_alias(const char* p, raw::Words* to, uint32_t size) {
  bool writable_behind = false;
  const char* origin = size == 0 ? nullptr : input_.origin(p, size, &writable_behind);
  if (origin == nullptr) return false;
  bool terminate = options_.terminate_aliases && writable_behind;
  to->set_begin(origin);
  to->size = size;
  to->meta = (to->meta & ~((1u << raw::Words::kBackShift) - 1)) | raw::Words::kBorrowed |
             (terminate ? 0 : raw::Words::kUnterminated);
  if (terminate) terminate_later(const_cast<char*>(origin) + size);
  return true;
}

template <typename Memory>
const char* Decoder<Memory>::string_copy(const char* p, raw::Words* to, uint32_t size, bool check_utf8) {
  constexpr uint32_t kMetaBelowBack = (1u << raw::Words::kBackShift) - 1;
  if (size == 0) {
    *to = {0, 0, to->meta & ~kMetaBelowBack};
    return p;
  }
  if constexpr (Memory::kPlacesBytes) {
    // A map's keys are compared, so its entries stay whole; and bytes in the patch buffer do not stay long enough.
    bool stays = (entry_->flags & schema::kMessageFlagMapEntry) == 0 && input_.in_piece();
    if (stays && memory_.places(size) && static_cast<int64_t>(size) <= input_.contiguous(p)) {
      if (check_utf8 && !is_valid_utf8(p, size)) return fail(DecodeError::kBadUtf8, p);
      if (!memory_.place_bytes(to, p, size)) return fail(DecodeError::kOutOfMemory, p);
      return p + size;
    }
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
    if (bytes == nullptr) return fail(DecodeError::kOutOfMemory, p);
    to->meta &= ~kMetaBelowBack;
    to->set_begin(bytes);
  }
  to->size = size;
  bytes[size] = '\0';
  size_t offset = input_.offset(p);
  p = input_.copy(p, bytes, size);
  if (p != nullptr && check_utf8 && !valid_utf8(bytes, size)) {
    if (error_ == DecodeError::kOk) {
      error_ = DecodeError::kBadUtf8;
      error_offset_ = offset;
    }
    return nullptr;
  }
  return p;
}

}  // namespace drover
