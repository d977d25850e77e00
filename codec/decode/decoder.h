// Decoder<Memory>: the decoder's state and what all its parts use; private to codec/. Its parts, each above the next:
//
//   decode_handlers.h   the table of handlers by op of a FieldStep (docs/formats.md), and run()
//   decode_scalars.h, decode_strings.h, decode_messages.h, decode_repeated.h, decode_unknown.h   kinds of fields
//   decode_lookup.h     fields that the tag's first byte does not decide
//   decode_dispatch.h   from tag to handler, into a sub-message and out of a message
//
// Decoding a message does not recurse: a handler reads one field and jumps to the handler of the next tag. A Frame
// keeps the state of a message while a message inside it is read. Between handlers these travel in registers:
//
//   d        the decoder                          slots   steps of the innermost message by field number
//   p        the position in the wire bytes       has     has-bits found so far, not yet in the object
//   object   the innermost message's object       step    of the current field, or null
//   table    the handlers by op                   tag     the two bytes at p
//
// Every function that takes a position `p` returns the position behind what it read, or null after fail().
#pragma once

#include <bit>
#include <cstring>

#include "codec/compiler.h"
#include "codec/decode/decode_types.h"
#include "codec/input.h"
#include "codec/utf8.h"
#include "codec/wire.h"
#include "message/raw.h"

namespace drover {

static_assert(std::endian::native == std::endian::little, "steps and wire integers are read as the machine's own");

template <typename Memory>
class Decoder {
 public:
  using FieldEntry = schema::FieldEntry;
  using MessageEntry = schema::MessageEntry;
  using FieldStep = schema::FieldStep;
  using Kind = schema::Kind;

  Decoder(const schema::Image& image, Memory& memory, const DecodeOptions& options)
      : image_(image), memory_(memory), arena_(memory.arena()), owner_(memory.owner()), options_(options) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  DecodeResult run(uint32_t message_index, char* object, const std::string_view* pieces, size_t count, size_t total);

 private:
  // The state of a message while a message inside it is read.
  struct Frame {
    char* object;
    const char* slots;
    uint64_t has;
    const FieldStep* step;  // of the field that holds the inner message
    int64_t outer;          // for Input::pop_limit
    const MessageEntry* entry;
    uint32_t end_group;
    bool map;  // the inner message is an entry of a map
  };

  using Handler = const char*(DROVER_HANDLER_CALL*)(Decoder*, const char*, char*, const char*, uint64_t,
                                                    const FieldStep*, uint64_t, const void*);

  // The handlers' parts: decode_dispatch.h, decode_lookup.h, decode_scalars.h, decode_strings.h, decode_messages.h,
  // decode_repeated.h, decode_handlers.h.
  struct Dispatch;
  struct Lookup;
  struct Scalars;
  struct Strings;
  struct Messages;
  struct Runs;
  struct HandlerTable;

  // ---- a step's parts
  template <int kTagSize>
  static DROVER_INLINE bool matches(const FieldStep* step, uint64_t tag) {
    // As a difference: clang compares narrow values only after it has widened both.
    using Tag = std::conditional_t<kTagSize == 1, uint8_t, uint16_t>;
    return static_cast<Tag>(static_cast<Tag>(tag) ^ raw::load<Tag>(reinterpret_cast<const char*>(step))) == 0;
  }
  static DROVER_INLINE uint64_t has_bit(const FieldStep* step) { return uint64_t{1} << (step->has_bit & 63); }
  static DROVER_INLINE char* place(char* object, const FieldStep* step) { return object + step->offset; }
  static DROVER_INLINE raw::Words* words(char* object, const FieldStep* step) {
    return reinterpret_cast<raw::Words*>(place(object, step));
  }

  // ---- decode_dispatch.h
  static constexpr uint64_t kRealHasBits = (uint64_t{1} << schema::kStepHasBits) - 1;
  void flush(char* object, uint64_t has);
  const FieldEntry& field_at(const FieldStep* step) const { return image_.fields(*entry_).first[step->position - 1]; }
  const char* slots_of(const MessageEntry& entry) const { return reinterpret_cast<const char*>(image_.slots(entry)); }
  bool more_frames(const char* p);
  // Saves the current message in `frame`, the first free one, and makes `inner` the current type.
  DROVER_INLINE void push(Frame* frame, char* object, const char* slots, uint64_t has, const FieldStep* step, bool map,
                          uint32_t end_group, const MessageEntry& inner) {
    frame->object = object;
    frame->slots = slots;
    frame->has = has;
    frame->step = step;
    frame->entry = entry_;
    frame->end_group = end_group_;
    frame->map = map;
    top_ = frame + 1;
    end_group_ = end_group;
    entry_ = &inner;
  }

  // ---- this file
  const char* length(const char* p, uint32_t* size);  // checked against the limit
  const char* length_long(const char* p, uint32_t* size);
  // A length of one to three bytes, and the position behind it; null if it is longer.
  static DROVER_INLINE const char* short_length(const char* p, uint32_t* size) {
    uint32_t first = static_cast<uint8_t>(p[0]);
    if (first < 0x80) {
      *size = first;
      return p + 1;
    }
    uint32_t second = static_cast<uint8_t>(p[1]);
    first = (first & 0x7f) | (second & 0x7f) << 7;
    if (second < 0x80) {
      *size = first;
      return p + 2;
    }
    uint32_t third = static_cast<uint8_t>(p[2]);
    *size = first | third << 14;
    return third < 0x80 ? p + 3 : nullptr;
  }
  char* new_message(const MessageEntry& entry);
  char* new_message_at_hand(const MessageEntry& entry);
  const char* fail(DecodeError error, const char* p);  // null
  const char* fail_past_limit();
  int depth_left() const { return options_.depth_limit - static_cast<int>(top_ - frames_); }

  // ---- decode_lookup.h
  const FieldStep* find_step(uint32_t number) const;
  const char* bad_tag(uint32_t tag, const char* start, const char* behind);
  // A closed enum knows the value.
  bool enum_knows(const FieldEntry& field, uint64_t value) const {
    return image_.enum_has_value(field.sub, static_cast<int32_t>(value));
  }
  void note_presence(char* object, const FieldEntry& field);
  const char* singular(const char* p, char* object, const FieldEntry& field);
  char* sub_object(const char* p, char* object, const FieldEntry& field);

  // ---- decode_strings.h
  // A copy of a string of less than kShortString bytes, with a NUL behind it; p is at its length, a byte. Null if it is
  // empty, or if the buffer or the arena's block at hand ends too soon.
  static constexpr uint32_t kShortString = 32;
  DROVER_INLINE char* copy_short(const char* p, uint32_t size) {
    // Always copies 16 bytes twice: the first and the last ones (or the first again). Bytes read beyond the string are
    // among the 16 that can be read behind any position well inside.
    if (static_cast<int64_t>(size) >= input_.left_inside(p) || !arena_.has_room(size + 1, kShortString) || size == 0)
        [[unlikely]]
      return nullptr;
    char* bytes = arena_.take(size + 1);
    size_t last = size > 16 ? size - 16 : 0;
    std::memcpy(bytes, p + 1, 16);
    std::memcpy(bytes + last, p + 1 + last, 16);
    bytes[size] = '\0';
    return bytes;
  }
  const char* string(const char* p, raw::Words* to, bool check_utf8);
  bool valid_utf8(const char* text, size_t size);
  const char* string_copy(const char* p, raw::Words* to, uint32_t size, bool check_utf8);
  bool string_alias(const char* p, raw::Words* to, uint32_t size);
  // The NUL behind an aliased string is written once the tag there has certainly been read: at the next string, or at
  // the end.
  void terminate_later(char* at) {
    *pending_nul_ = '\0';
    pending_nul_ = at;
  }

  // ---- decode_repeated.h
  // One element, and those that follow it with the same tag; p is behind the tag.
  const char* repeated(const char* p, char* object, const FieldStep* step, uint32_t tag);
  template <uint32_t kOp, typename Next>
  const char* repeated_varints(const char* p, char* object, raw::Words* to, const FieldStep* step, Next next);
  template <typename Element, typename Next>
  const char* repeated_fixed(const char* p, raw::Words* to, const FieldStep* step, Next next);
  const char* repeated_strings(const char* p, char* object, const FieldEntry& field, uint32_t tag);
  char* add_message(const char* p, char* repeated, const FieldEntry& field, uint32_t tag_size, uint32_t tag);
  const char* packed(const char* p, char* object, const FieldEntry& field);
  const char* packed_fixed(const char* p, raw::Words* to, const FieldEntry& field, uint32_t size);
  const char* packed_varints(const char* p, raw::Words* to, const FieldEntry& field, uint32_t size, uint32_t more);
  const char* packed_in_slices(const char* p, char* object, const FieldEntry& field, uint32_t size);
  const char* packed_varints_slow(const char* p, char* object, const FieldEntry& field, uint32_t size);
  bool end_map_entry(const char* p, char* object, const FieldEntry& field, char* added);
  uint32_t count_run(const char* p, uint32_t tag_size, uint32_t tag) const;
  // Room for `wanted` elements; false after fail(out_of_memory). An error's position is `p`.
  bool grow(raw::Words* repeated, uint32_t wanted, const FieldEntry& field, const char* p);
  static constexpr uint32_t kMovedAtOnce = 8192;  // elements, between two pauses
  bool move_in_slices(char* to, const char* from, uint32_t kept, uint32_t capacity, size_t element_size, bool relative);
  // The same for one more scalar in a full array.
  template <uint32_t kElementSize>
  bool grow_scalars(raw::Words* repeated, const FieldStep* step, const char* p);
  bool next_is(const char* p, uint32_t tag, int* tag_size);

  // ---- decode_unknown.h
  const char* unknown_field(const char* p, char* object, uint32_t tag, int depth);  // p is behind the tag
  const char* unknown_group(const char* p, char* object, uint32_t tag, int depth);
  static constexpr uint32_t kUnknownAtOnce = 256 << 10;  // bytes that are moved between two pauses
  // Makes the object's unknown bytes longer by `size`; where to write them. Null after fail().
  char* extend_unknown(char* object, size_t size, const char* p);
  bool append_unknown_varint(char* object, uint32_t tag, uint64_t value, const char* p);
  // A map entry whose enum value is unknown, written out as a field of `object`.
  bool append_unknown_entry(char* object, const FieldEntry& field, const char* map_entry, const char* p);

  Input input_;
  const schema::Image image_;
  Memory& memory_;
  Arena& arena_;
  const OwnerWord owner_;
  const DecodeOptions& options_;
  const Handler* handlers_;
  const MessageEntry* entry_;  // the innermost message
  Frame* top_;                 // one past the frames in use
  Frame* frames_end_;          // at most depth_limit of them
  Frame* frames_;
  char* entering_;               // the object that `enter` is to go on with
  uint32_t min_alias_size_;      // at least 1
  uint32_t end_group_ = 0;       // the tag that ends the innermost message, if it is a group
  uint32_t unknown_number_ = 0;  // of the unknown field that is being read
  char* pending_nul_ = &no_pending_;
  DecodeError error_ = DecodeError::kOk;
  char no_pending_;
  size_t error_offset_ = 0;
  const MessageEntry* error_message_ = nullptr;
  uint32_t error_field_ = 0;
#if !DROVER_MUSTTAIL
  // The handlers' registers, while between two of them.
  struct {
    char* object;
    const char* slots;
    uint64_t has;
    const FieldStep* step;
    bool finished = false;
  } loop_;
#endif
  Frame inline_frames_[Memory::kInlineFrames];
};

template <typename Memory>
const char* Decoder<Memory>::fail(DecodeError error, const char* p) {
  if (error_ == DecodeError::kOk) {
    error_ = error;
    error_offset_ = input_.offset(p);
  }
  return nullptr;
}

template <typename Memory>
const char* Decoder<Memory>::fail_past_limit() {
  if (error_ == DecodeError::kOk) {
    error_ = DecodeError::kTruncated;
    error_offset_ = input_.limit_offset();
  }
  return nullptr;
}

template <typename Memory>
DROVER_INLINE const char* Decoder<Memory>::length(const char* p, uint32_t* size) {
  uint32_t first = static_cast<uint8_t>(p[0]);
  if (first >= 0x80) {
    uint32_t second = static_cast<uint8_t>(p[1]);
    if (second >= 0x80) [[unlikely]] {
      uint32_t slow = 0;  // so that the caller's size can stay in a register
      p = length_long(p, &slow);
      *size = slow;
      return p;
    }
    first = (first & 0x7f) | second << 7;
    ++p;
  }
  ++p;
  *size = first;
  if (static_cast<int64_t>(first) > input_.left(p)) [[unlikely]] {
    return input_.left(p) < 0 ? fail_past_limit() : fail(DecodeError::kLengthPastEnd, p - 1);
  }
  return p;
}

template <typename Memory>
DROVER_NOINLINE const char* Decoder<Memory>::length_long(const char* p, uint32_t* size) {
  const char* behind = wire::read_varint32(p, size);
  if (behind == nullptr) return fail(DecodeError::kOverlongVarint, p);
  if (input_.left(behind) < 0) return fail_past_limit();
  if (*size > wire::kMaxMessage) return fail(DecodeError::kTooLarge, p);
  if (static_cast<int64_t>(*size) > input_.left(behind)) return fail(DecodeError::kLengthPastEnd, p);
  return behind;
}

// Up to 24 bytes more are zeroed than `size`, which is not 0.
DROVER_INLINE void zero_past(char* at, size_t size) {
  char* end = at + size;
  do {
    std::memset(at, 0, 32);
    at += 32;
    asm volatile("" : "+r"(at));  // stays a loop: for so few bytes it is faster than a call of memset
  } while (at < end);
}
// Exactly `size` bytes, a multiple of 8.
DROVER_INLINE void zero(char* at, size_t size) {
  if (size > 256) {
    std::memset(at, 0, size);
    return;
  }
  for (char* end = at + size; at != end; at += 8) {
    raw::store<uint64_t>(at, 0);
    asm volatile("" : "+r"(at));  // stays a loop
  }
}

// An empty object in the arena's block at hand; null if that has no room.
template <typename Memory>
DROVER_INLINE char* Decoder<Memory>::new_message_at_hand(const MessageEntry& entry) {
  size_t size = entry.object_size;  // a multiple of 8
  if (!arena_.has_room(size, 32)) [[unlikely]]
    return nullptr;
  char* object = arena_.take_words(size);
  zero_past(object, size);
  raw::store(object, owner_);
  return object;
}

// An empty object, or null.
template <typename Memory>
char* Decoder<Memory>::new_message(const MessageEntry& entry) {
  char* object = new_message_at_hand(entry);
  if (object != nullptr) [[likely]]
    return object;
  object = static_cast<char*>(arena_.allocate_zeroed(entry.object_size));
  if (object != nullptr) raw::store(object, owner_);
  return object;
}

}  // namespace drover
