// The handlers: one for each op of a FieldStep and size of tag. A handler finds `p` at the tag it was chosen for,
// checks that it is the tag of its step, reads the field, and goes on with `next`.
//
//   next:  tag at p -> slot -> op -> handler          at_limit:  end of the innermost message, or of a piece of input
//
// A slot is found by the tag's first byte alone: numbers 1..15 have slots of their own, those with a tag of two bytes
// share slots 16..31 by their low four bits. The handler of a number that is not its slot's, of another wire type and
// of no field at all is `find`, which looks the tag up by its whole number.
#pragma once

#include "codec/cpu.h"
#include "codec/decode/decoder.h"

namespace drover {

#define DROVER_HANDLER(name)                                                                                     \
  DROVER_HANDLER_CALL const char* name(Decoder* d, const char* p, char* object, const char* slots, uint64_t has, \
                                       const FieldStep* step, uint64_t tag, const void* table)
#if DROVER_MUSTTAIL
#define DROVER_GO(handler) [[clang::musttail]] return handler(d, p, object, slots, has, step, tag, table)
#define DROVER_NEXT() DROVER_GO(next)
#else
#define DROVER_GO(handler) return handler(d, p, object, slots, has, step, tag, table)
#define DROVER_NEXT() return leave_to_loop(d, p, object, slots, has, step)
#endif
// On to `find`, which reads the tag again, if p is not at the tag of the step. That `tag` is cleared here keeps the
// comparison one instruction, and gives its register to the handler.
#define DROVER_CHECK_TAG()                    \
  do {                                        \
    bool same = matches<kTagSize>(step, tag); \
    tag = 0;                                  \
    if (!same) [[unlikely]]                   \
      DROVER_GO(find);                        \
  } while (false)

template <typename Memory>
struct Decoder<Memory>::Handlers {
  static constexpr uint64_t kRealHasBits = (uint64_t{1} << schema::kStepHasBits) - 1;

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

  static DROVER_INLINE DROVER_HANDLER(next) {
    if (!d->input_.inside(p)) [[unlikely]]
      DROVER_GO(at_limit);
    tag = raw::load<uint16_t>(p);
    step = reinterpret_cast<const FieldStep*>(slots + (tag & 0xf8));
    Handler handler = static_cast<const Handler*>(table)[step->op];
    DROVER_GO(handler);
  }

#if !DROVER_MUSTTAIL
  static DROVER_INLINE const char* leave_to_loop(Decoder* d, const char* p, char* object, const char* slots,
                                                 uint64_t has, const FieldStep* step) {
    d->loop_.object = object;
    d->loop_.slots = slots;
    d->loop_.has = has;
    d->loop_.step = step;
    return p;
  }
#endif

  static DROVER_INLINE const char* start(Decoder* d, const char* p, char* object, const MessageEntry& entry) {
    d->entry_ = &entry;
    const char* slots = d->slots_of(entry);
    const void* table = d->handlers_;
#if DROVER_MUSTTAIL
    return begin(d, p, object, slots, 0, nullptr, 0, table);
#else
    leave_to_loop(d, p, object, slots, 0, nullptr);
    while (p != nullptr && !d->loop_.finished) {
      p = next(d, p, d->loop_.object, d->loop_.slots, d->loop_.has, d->loop_.step, 0, table);
    }
    return p;
#endif
  }
#if DROVER_MUSTTAIL
  static DROVER_NOINLINE DROVER_HANDLER(begin) { DROVER_NEXT(); }
#endif

  // ---- ends
  static DROVER_NOINLINE DROVER_HANDLER(at_limit) {
    if (d->input_.at_end(p)) [[likely]]
      DROVER_GO(leave);
    DROVER_GO(at_limit_slow);
  }
  static DROVER_NOINLINE DROVER_HANDLER(at_limit_slow) {
    const char* position = p;
    if (!d->input_.done_slow(&position)) {
      p = position;
      DROVER_NEXT();
    }
    if (position == nullptr) {
      p = d->fail_past_limit();
      DROVER_GO(failed);
    }
    DROVER_GO(leave);
  }

  // The innermost message is whole: its limit is reached.
  static DROVER_INLINE DROVER_HANDLER(leave) {
    if (d->end_group_ != 0) [[unlikely]] {
      p = d->fail(DecodeError::unmatched_end_group, p);
      DROVER_GO(failed);
    }
    DROVER_GO(leave_message);
  }
  static DROVER_INLINE DROVER_HANDLER(leave_message) {
    d->flush(object, has);
    if (d->top_ == d->frames_) {
#if !DROVER_MUSTTAIL
      d->loop_.finished = true;
#endif
      return p;
    }
    Frame* frame = --d->top_;
    d->input_.pop_limit(frame->outer);
    d->end_group_ = frame->end_group;
    d->entry_ = frame->entry;
    has = frame->has;
    step = frame->step;
    if (frame->map) [[unlikely]]
      DROVER_GO(leave_map_entry);
    object = frame->object;
    slots = frame->slots;
    DROVER_NEXT();
  }
  static DROVER_NOINLINE DROVER_HANDLER(leave_map_entry) {
    char* entry = object;
    object = d->top_->object;
    slots = d->top_->slots;
    if (!d->end_map_entry(p, object, d->field_at(step), entry)) [[unlikely]] {
      p = nullptr;
      DROVER_GO(failed);
    }
    DROVER_NEXT();
  }

  // Says where, and leaves what was read so far in the objects.
  static DROVER_NOINLINE DROVER_HANDLER(failed) {
    (void)p, (void)slots, (void)tag, (void)table;
    d->error_message_ = d->entry_;
    d->error_field_ = step == nullptr || step->position == 0 ? 0 : d->field_at(step).number;
    d->flush(object, has);
    while (d->top_ != d->frames_) {
      --d->top_;
      d->flush(d->top_->object, d->top_->has);
    }
    return nullptr;
  }

  // ---- the tag's whole number decides
  // Most that come here have a tag of two bytes and share their slot with another number.
  static DROVER_NOINLINE DROVER_HANDLER(find) {
    tag = raw::load<uint16_t>(p);
    if ((tag & 0x80) == 0 && reinterpret_cast<const FieldStep*>(slots)[(tag & 0x7f) >> 3].position == 0) {
      step = nullptr;
      tag &= 0x7f;
      p += 1;
      DROVER_GO(not_a_field);
    }
    uint32_t number = (tag & 0x7f) >> 3 | (tag >> 8) << 4;
    if ((tag & 0x8080) == 0x80 && number < d->entry_->slot_count) {
      step = reinterpret_cast<const FieldStep*>(slots) + number;
      if (step->tag == static_cast<uint16_t>(tag)) {
        Handler handler = static_cast<const Handler*>(table)[step->op];
        DROVER_GO(handler);
      }
    }
    DROVER_GO(find_slow);
  }
  static DROVER_NOINLINE DROVER_HANDLER(find_slow) {
    const char* tag_at = p;
    uint32_t whole = 0;
    p = wire::read_varint32(p, &whole);
    step = nullptr;
    if (p == nullptr) {
      p = d->bad_tag(0, tag_at, nullptr);
      DROVER_GO(failed);
    }
    tag = whole;
    const FieldStep* found = d->find_step(whole >> 3);
    if (found == nullptr) DROVER_GO(not_a_field);
    const FieldEntry& field = d->field_at(found);
    uint32_t wire_type = whole & 7;
    bool packed = field.label == schema::kLabelRepeated && !schema::is_string_kind(field.kind) &&
                  !schema::is_message_kind(field.kind) && wire_type == wire::kLengthDelimited;
    if (wire_type != field.wire_type && !packed) DROVER_GO(not_a_field);
    step = found;
    uint32_t op = uint32_t{step->op} >> schema::StepOp::kCodeShift;
    if (packed || field.label == schema::kLabelRepeated || op == schema::kOpGeneric) DROVER_GO(generic);
    // On to the handler for tags of one byte, as if that byte were the tag's last.
    tag = step->tag;
    p -= 1;
    Handler handler = static_cast<const Handler*>(table)[op * 2];
    DROVER_GO(handler);
  }

  // `tag` is the whole tag, and p behind it.
  static DROVER_NOINLINE DROVER_HANDLER(not_a_field) {
    auto whole = static_cast<uint32_t>(tag);
    if (d->end_group_ != 0 && whole == d->end_group_) DROVER_GO(leave_message);
    d->unknown_number_ = whole >> 3;
    if (whole >> 3 == 0 || (whole & 7) > wire::kFixed32 || (whole & 7) == wire::kEndGroup) {
      p = d->bad_tag(whole, p - 1, p);
      DROVER_GO(failed);
    }
    p = d->unknown_field(p, object, whole, d->depth_left());
    if (p == nullptr) DROVER_GO(failed);
    d->unknown_number_ = 0;
    DROVER_NEXT();
  }

  // Whatever a step cannot say: members of oneofs, far has-bits, far offsets.
  template <int kTagSize>
  static DROVER_HANDLER(by_entry) {
    DROVER_CHECK_TAG();
    tag = kTagSize == 1 ? step->tag & 0xff : (step->tag & 0x7f) | (step->tag >> 8 & 0x7f) << 7;
    p += kTagSize;
    DROVER_GO(generic);
  }
  // `tag` is the whole tag, and p behind it.
  static DROVER_NOINLINE DROVER_HANDLER(generic) {
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
        DROVER_GO(failed);
      }
      d->entering_ = sub;
      DROVER_GO(enter);
    }
    if (p == nullptr) DROVER_GO(failed);
    DROVER_NEXT();
  }

  // ---- singular scalars
  template <uint32_t kOp, int kTagSize>
  static DROVER_HANDLER(varint) {
    DROVER_CHECK_TAG();
    uint64_t value = static_cast<uint8_t>(p[kTagSize]);
    if (value >= 0x80) {
      uint64_t second = static_cast<uint8_t>(p[kTagSize + 1]);
      if (second >= 0x80) {
        const char* behind = wire::read_varint_long(p + kTagSize, &value);
        if (behind == nullptr) [[unlikely]] {
          p = d->fail(DecodeError::overlong_varint, p + kTagSize);
          DROVER_GO(failed);
        }
        store_varint<kOp>(place(object, step), value);
        has |= has_bit(step);
        p = behind;
        DROVER_NEXT();
      }
      value = (value & 0x7f) | second << 7;
      ++p;
    }
    store_varint<kOp>(place(object, step), value);
    has |= has_bit(step);
    p += kTagSize + 1;
    DROVER_NEXT();
  }

#if DROVER_BMI2
  // Nine bytes or ten; what the tenth holds above bit 63 is dropped.
  template <uint32_t kOp, int kTagSize>
  __attribute__((target("bmi,bmi2"))) static DROVER_NOINLINE DROVER_HANDLER(varint_of_nine) {
    p += kTagSize;
    uint64_t value = _pext_u64(raw::load<uint64_t>(p), 0x7f7f7f7f7f7f7f7f);
    uint64_t last = raw::load<uint16_t>(p + 8);
    value |= (last & 0x7f) << 56;
    if ((last & 0x80) != 0) {
      if (last >= 0x8000) {
        p = d->fail(DecodeError::overlong_varint, p);
        DROVER_GO(failed);
      }
      value |= last >> 8 << 63;
      ++p;
    }
    store_varint<kOp>(place(object, step), value);
    has |= has_bit(step);
    p += 9;
    DROVER_NEXT();
  }
  // Where one instruction gathers a varint's bits.
  template <uint32_t kOp, int kTagSize>
  __attribute__((target("bmi,bmi2"))) static DROVER_HANDLER(varint_bmi2) {
    DROVER_CHECK_TAG();
    uint64_t value = static_cast<uint8_t>(p[kTagSize]);
    if (value >= 0x80) {
      uint64_t bytes = raw::load<uint64_t>(p + kTagSize);
      uint64_t stops = _andn_u64(bytes, 0x8080808080808080);
      if (stops == 0) [[unlikely]]
        DROVER_GO((varint_of_nine<kOp, kTagSize>));
      // All bits up to the first that stops.
      value = _pext_u64(bytes & _blsmsk_u64(stops), 0x7f7f7f7f7f7f7f7f);
      p += _tzcnt_u64(stops) / 8;
    }
    store_varint<kOp>(place(object, step), value);
    has |= has_bit(step);
    p += kTagSize + 1;
    DROVER_NEXT();
  }
#endif

  template <int kTagSize>
  static DROVER_HANDLER(closed_enum) {
    DROVER_CHECK_TAG();
    uint64_t value;
    const char* behind = wire::read_varint(p + kTagSize, &value);
    if (behind == nullptr) [[unlikely]] {
      p = d->fail(DecodeError::overlong_varint, p + kTagSize);
      DROVER_GO(failed);
    }
    const FieldEntry& field = d->field_at(step);
    p = behind;
    if (!d->enum_knows(field, value)) [[unlikely]] {
      if (!d->append_unknown_varint(object, wire::make_tag(field.number, wire::kVarint), value, p)) {
        p = nullptr;
        DROVER_GO(failed);
      }
      DROVER_NEXT();
    }
    raw::store(place(object, step), static_cast<uint32_t>(value));
    has |= has_bit(step);
    DROVER_NEXT();
  }

  template <typename Bits, int kTagSize>
  static DROVER_HANDLER(fixed) {
    DROVER_CHECK_TAG();
    raw::store(place(object, step), raw::load<Bits>(p + kTagSize));
    has |= has_bit(step);
    p += kTagSize + sizeof(Bits);
    DROVER_NEXT();
  }

  // ---- strings
  // Into memory of its own: here if it is short and the field was empty.
  template <bool kUtf8, int kTagSize>
  static DROVER_HANDLER(string_copied) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    uint32_t size = static_cast<uint8_t>(*p);
    raw::Words* to = words(object, step);
    if (size >= kShortString || to->data != 0) [[unlikely]]
      DROVER_GO(string_copied_long<kUtf8>);
    char* bytes = d->copy_short(p, size);
    if (bytes == nullptr) [[unlikely]]
      DROVER_GO(string_copied_long<kUtf8>);
    ++p;
    to->set_begin(bytes);
    to->size = size;
    has |= has_bit(step);
    if (kUtf8 && !is_ascii_32(bytes, size)) [[unlikely]]
      DROVER_GO(check_short_utf8);
    p += size;
    DROVER_NEXT();
  }
  static DROVER_NOINLINE DROVER_HANDLER(check_short_utf8) {  // p is at the string
    raw::Words* to = words(object, step);
    if (!is_valid_utf8(to->begin(), to->size)) {
      p = d->fail(DecodeError::bad_utf8, p);
      DROVER_GO(failed);
    }
    p += to->size;
    DROVER_NEXT();
  }

  // Of any length, into a field that was empty; p is at the length.
  template <bool kUtf8>
  static DROVER_NOINLINE DROVER_HANDLER(string_copied_long) {
    raw::Words* to = words(object, step);
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    if (Memory::kPlacesBytes || begin == nullptr || to->data != 0 || size == 0 ||
        static_cast<int64_t>(size) > d->input_.contiguous(begin) || static_cast<int64_t>(size) > d->input_.left(begin))
        [[unlikely]]
      DROVER_GO(string_slow<kUtf8>);
    char* bytes = d->arena_.try_allocate(size + 1, 0);
    if (bytes == nullptr) [[unlikely]]
      DROVER_GO(string_slow<kUtf8>);
    has |= has_bit(step);
    to->set_begin(bytes);
    to->size = size;
    copy_string(bytes, begin, size);
    bytes[size] = '\0';
    p = begin;
    if (kUtf8 && !is_valid_utf8(bytes, size)) [[unlikely]] {
      p = d->fail(DecodeError::bad_utf8, p);
      DROVER_GO(failed);
    }
    p += size;
    DROVER_NEXT();
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
  static DROVER_HANDLER(string_aliased) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    raw::Words* to = words(object, step);
    // Well inside the piece: the byte behind the string belongs to it too.
    if (begin == nullptr || static_cast<int64_t>(size) > d->input_.left_inside(begin) || !d->input_.in_piece() ||
        size < d->min_alias_size_) [[unlikely]]
      DROVER_GO(string_aliased_near_end<kUtf8>);
    bool terminate = d->options_.terminate_aliases;
    refer(to, begin, size, terminate);
    if (kUtf8 && !is_valid_utf8(begin, size)) [[unlikely]] {
      p = d->fail(DecodeError::bad_utf8, begin);
      DROVER_GO(failed);
    }
    p = begin + size;
    if (terminate) d->terminate_later(const_cast<char*>(p));
    has |= has_bit(step);
    DROVER_NEXT();
  }

  static DROVER_INLINE void refer(raw::Words* to, const char* begin, uint32_t size, bool terminate) {
    to->set_begin(begin);
    to->size = size;
    to->meta = (to->meta & ~((1u << raw::Words::kBackShift) - 1)) | raw::Words::kBorrowed |
               (terminate ? 0 : raw::Words::kUnterminated);
  }
  // The string may reach into the piece's last bytes, or be one that is copied; p is at the length.
  template <bool kUtf8>
  static DROVER_NOINLINE DROVER_HANDLER(string_aliased_near_end) {
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    if (begin == nullptr || !d->input_.in_piece() || static_cast<int64_t>(size) > d->input_.left(begin) ||
        static_cast<int64_t>(size) > d->input_.contiguous(begin) || size < d->min_alias_size_)
      DROVER_GO(string_slow<kUtf8>);
    bool terminate = d->options_.terminate_aliases && begin + size < d->input_.piece_end();
    refer(words(object, step), begin, size, terminate);
    if (kUtf8 && !is_valid_utf8(begin, size)) {
      p = d->fail(DecodeError::bad_utf8, begin);
      DROVER_GO(failed);
    }
    p = begin + size;
    if (terminate) d->terminate_later(const_cast<char*>(p));
    has |= has_bit(step);
    DROVER_NEXT();
  }

  template <bool kUtf8>
  static DROVER_NOINLINE DROVER_HANDLER(string_slow) {  // p is at the length
    p = d->string(p, words(object, step), kUtf8);
    if (p == nullptr) [[unlikely]]
      DROVER_GO(failed);
    has |= has_bit(step);
    DROVER_NEXT();
  }

  // ---- messages
  template <int kTagSize>
  static DROVER_HANDLER(sub_message) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    tag = reinterpret_cast<uintptr_t>(place(object, step));
    DROVER_GO((enter_new<sub_message_slow, false>));
  }
  // Into a new object, which the pointer at `tag` is to lead to. This is the usual case: a length of up to three bytes,
  // a pointer that was null, memory and a frame at hand. Whatever is not so is left to `slow` before anything has
  // changed.
  template <Handler slow, bool kElement>
  static DROVER_INLINE DROVER_HANDLER(enter_new) {
    auto* pointer = reinterpret_cast<raw::Pointer*>(static_cast<uintptr_t>(tag));
    if (pointer->offset != 0 || d->top_ == d->frames_end_) [[unlikely]]
      DROVER_GO(slow);
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    if (begin == nullptr) [[unlikely]]
      DROVER_GO(slow);
    int64_t behind = d->input_.left(begin) - static_cast<int64_t>(size);
    if (behind < 0) [[unlikely]]
      DROVER_GO(slow);
    const MessageEntry& entry = d->image_.message(d->field_at(step).sub);
    char* sub = d->new_message_at_hand(entry);
    if (sub == nullptr) [[unlikely]]
      DROVER_GO(slow);
    pointer->set(sub);
    if (kElement) ++words(object, step)->size;
    Frame* frame = d->top_;
    d->input_.shrink_limit(behind);
    frame->outer = behind;
    d->push(frame, object, slots, has, step, false, 0, entry);
    p = begin;
    object = sub;
    slots = d->slots_of(entry);
    has = 0;
    step = nullptr;
    DROVER_NEXT();
  }
  static DROVER_NOINLINE DROVER_HANDLER(sub_message_slow) {  // p is behind the tag
    auto* pointer = reinterpret_cast<raw::Pointer*>(place(object, step));
    char* sub = pointer->get();
    if (sub == nullptr) {
      sub = d->new_message(d->image_.message(d->field_at(step).sub));
      if (sub == nullptr) {
        p = d->fail(DecodeError::out_of_memory, p);
        DROVER_GO(failed);
      }
      pointer->set(sub);
    }
    d->entering_ = sub;
    DROVER_GO(enter);
  }
  // A group is entered the slow way.
  template <int kTagSize>
  static DROVER_HANDLER(group) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    DROVER_GO(sub_message_slow);
  }

  template <int kTagSize>
  static DROVER_HANDLER(repeated_message) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    raw::Words* to = words(object, step);
    if (to->size >= to->capacity()) DROVER_GO(repeated_message_slow<kTagSize>);
    tag = reinterpret_cast<uintptr_t>(to->begin() + size_t{to->size} * sizeof(raw::Pointer));
    DROVER_GO((enter_new<repeated_message_slow<kTagSize>, true>));
  }
  // A group is entered the slow way, here too.
  template <int kTagSize>
  static DROVER_HANDLER(repeated_group) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    DROVER_GO(repeated_message_slow<kTagSize>);
  }
  template <int kTagSize>
  static DROVER_NOINLINE DROVER_HANDLER(repeated_message_slow) {  // p is behind the tag
    const FieldEntry& field = d->field_at(step);
    d->entering_ = d->add_message(p, place(object, step), field, kTagSize, step->tag);
    if (d->entering_ == nullptr) [[unlikely]] {
      p = nullptr;
      DROVER_GO(failed);
    }
    DROVER_GO(enter);
  }

  template <int kTagSize>
  static DROVER_HANDLER(map) {
    DROVER_CHECK_TAG();
    p += kTagSize;
    d->entering_ = d->new_message(d->image_.message(d->field_at(step).sub));
    if (d->entering_ == nullptr) [[unlikely]] {
      p = d->fail(DecodeError::out_of_memory, p);
      DROVER_GO(failed);
    }
    DROVER_GO(enter);
  }

  // Into the object `entering_`, which the field of `step` holds; p is at the length, or behind a start-group tag.
  static DROVER_NOINLINE DROVER_HANDLER(enter) {
    const FieldEntry& field = d->field_at(step);
    const MessageEntry& sub = d->image_.message(field.sub);
    if (d->top_ == d->frames_end_ && !d->more_frames(p)) [[unlikely]] {
      p = nullptr;
      DROVER_GO(failed);
    }
    Frame* frame = d->top_;
    bool group = field.kind == static_cast<uint8_t>(Kind::kGroup);
    frame->outer = 0;
    if (!group) [[likely]] {
      uint32_t size;
      p = d->length(p, &size);
      if (p == nullptr) [[unlikely]]
        DROVER_GO(failed);
      frame->outer = d->input_.push_limit(p, size);
    }
    uint32_t end_group = group ? wire::make_tag(field.number, wire::kEndGroup) : 0;
    d->push(frame, object, slots, has, step, field.label == schema::kLabelMap, end_group, sub);
    object = d->entering_;
    slots = d->slots_of(sub);
    has = 0;
    step = nullptr;
    DROVER_NEXT();
  }

  // ---- repeated scalars and strings: as many elements as follow each other
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
  static DROVER_HANDLER(repeated_varint) {
    DROVER_CHECK_TAG();
    p = d->template repeated_varints<kOp>(p + kTagSize, object, words(object, step), step, follows<kTagSize>(d, step));
    if (p == nullptr) [[unlikely]]
      DROVER_GO(failed);
    DROVER_NEXT();
  }

  template <typename Bits, int kTagSize>
  static DROVER_HANDLER(repeated_fixed) {
    DROVER_CHECK_TAG();
    p = d->template repeated_fixed<Bits>(p + kTagSize, words(object, step), step, follows<kTagSize>(d, step));
    if (p == nullptr) [[unlikely]]
      DROVER_GO(failed);
    DROVER_NEXT();
  }

  template <bool kUtf8, int kTagSize>
  static DROVER_HANDLER(repeated_string) {
    DROVER_CHECK_TAG();
    raw::Words* to = words(object, step);
    uint32_t capacity = to->capacity();
    do {
      if (to->size == capacity) [[unlikely]] {
        uint32_t wanted = capacity + d->count_run(p, kTagSize, step->tag);
        if (!d->grow(to, wanted, d->field_at(step), p)) {
          p = nullptr;
          DROVER_GO(failed);
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
          DROVER_GO(failed);
      }
      ++to->size;
    } while (next_is<kTagSize>(d, p, step));
    DROVER_NEXT();
  }

  template <int kTagSize>
  static DROVER_HANDLER(packed) {
    DROVER_CHECK_TAG();
    p = d->packed(p + kTagSize, object, d->field_at(step));
    if (p == nullptr) [[unlikely]]
      DROVER_GO(failed);
    DROVER_NEXT();
  }

  struct Table {
    Handler handler[schema::kOpCount * 2];
  };
  template <bool kAlias, int kTagSize>
  static constexpr void fill(Table* table) {
    using namespace schema;  // NOLINT: the ops' names
    Handler* to = table->handler + (kTagSize - 1);
    for (uint32_t op = 0; op < kOpCount; ++op) to[op * 2] = find;
    to[kOpInt32 * 2] = varint<kOpInt32, kTagSize>;
    to[kOpUint32 * 2] = varint<kOpUint32, kTagSize>;
    to[kOpVarint64 * 2] = varint<kOpVarint64, kTagSize>;
    to[kOpBool * 2] = varint<kOpBool, kTagSize>;
    to[kOpSint32 * 2] = varint<kOpSint32, kTagSize>;
    to[kOpSint64 * 2] = varint<kOpSint64, kTagSize>;
    to[kOpFixed32 * 2] = fixed<uint32_t, kTagSize>;
    to[kOpFixed64 * 2] = fixed<uint64_t, kTagSize>;
    to[kOpClosedEnum * 2] = closed_enum<kTagSize>;
    to[kOpUtf8 * 2] = kAlias ? string_aliased<true, kTagSize> : string_copied<true, kTagSize>;
    to[kOpBytes * 2] = kAlias ? string_aliased<false, kTagSize> : string_copied<false, kTagSize>;
    to[kOpMessage * 2] = sub_message<kTagSize>;
    to[kOpGroup * 2] = group<kTagSize>;
    Handler* repeated = to + kOpRepeated * 2;
    repeated[kOpInt32 * 2] = repeated_varint<kOpInt32, kTagSize>;
    repeated[kOpUint32 * 2] = repeated_varint<kOpUint32, kTagSize>;
    repeated[kOpVarint64 * 2] = repeated_varint<kOpVarint64, kTagSize>;
    repeated[kOpBool * 2] = repeated_varint<kOpBool, kTagSize>;
    repeated[kOpSint32 * 2] = repeated_varint<kOpSint32, kTagSize>;
    repeated[kOpSint64 * 2] = repeated_varint<kOpSint64, kTagSize>;
    repeated[kOpFixed32 * 2] = repeated_fixed<uint32_t, kTagSize>;
    repeated[kOpFixed64 * 2] = repeated_fixed<uint64_t, kTagSize>;
    repeated[kOpClosedEnum * 2] = repeated_varint<kOpClosedEnum, kTagSize>;
    repeated[kOpUtf8 * 2] = repeated_string<true, kTagSize>;
    repeated[kOpBytes * 2] = repeated_string<false, kTagSize>;
    to[(kOpRepeated + kOpMessage) * 2] = repeated_message<kTagSize>;
    to[(kOpRepeated + kOpGroup) * 2] = repeated_group<kTagSize>;
    to[kOpPacked * 2] = packed<kTagSize>;
    to[kOpMap * 2] = map<kTagSize>;
    to[kOpGeneric * 2] = by_entry<kTagSize>;
  }
  template <bool kAlias>
  static constexpr Table make_table() {
    Table table{};
    fill<kAlias, 1>(&table);
    fill<kAlias, 2>(&table);
    return table;
  }
  static constexpr bool kAliases = !Memory::kPlacesBytes;  // nobody could reach the wire bytes
  static constexpr Table kTables[2] = {make_table<false>(), make_table<kAliases>()};
#if DROVER_BMI2
  template <int kTagSize>
  static constexpr void fill_bmi2(Table* table) {
    using namespace schema;  // NOLINT: the ops' names
    Handler* to = table->handler + (kTagSize - 1);
    to[kOpInt32 * 2] = varint_bmi2<kOpInt32, kTagSize>;
    to[kOpUint32 * 2] = varint_bmi2<kOpUint32, kTagSize>;
    to[kOpVarint64 * 2] = varint_bmi2<kOpVarint64, kTagSize>;
    to[kOpSint32 * 2] = varint_bmi2<kOpSint32, kTagSize>;
    to[kOpSint64 * 2] = varint_bmi2<kOpSint64, kTagSize>;
  }
  template <bool kAlias>
  static constexpr Table make_bmi2_table() {
    Table table = make_table<kAlias>();
    fill_bmi2<1>(&table);
    fill_bmi2<2>(&table);
    return table;
  }
  static constexpr Table kBmi2Tables[2] = {make_bmi2_table<false>(), make_bmi2_table<kAliases>()};
#endif
  static const Handler* table(bool alias) {
#if DROVER_BMI2
    if (cpu::has_fast_bmi2()) return kBmi2Tables[alias ? 1 : 0].handler;
#endif
    return kTables[alias ? 1 : 0].handler;
  }
};

// The has-bits found, into the object.
template <typename Memory>
DROVER_INLINE void Decoder<Memory>::flush(char* object, uint64_t has) {
  has &= Handlers::kRealHasBits;
  if (has == 0) return;
  char* at = object + sizeof(MessageHeader);
  if (has >> 32 != 0) {
    raw::store(at, raw::load<uint64_t>(at) | has);
  } else {
    raw::store(at, raw::load<uint32_t>(at) | static_cast<uint32_t>(has));
  }
}

// More room for frames, up to the depth limit.
template <typename Memory>
DROVER_NOINLINE bool Decoder<Memory>::more_frames(const char* p) {
  auto used = static_cast<size_t>(top_ - frames_);
  auto limit = static_cast<size_t>(options_.depth_limit < 0 ? 0 : options_.depth_limit);
  if (used >= limit) return fail(DecodeError::depth_limit, p), false;
  size_t wanted = used * 2 < limit ? used * 2 : limit;
  auto* frames = static_cast<Frame*>(arena_.allocate(wanted * sizeof(Frame)));
  if (frames == nullptr) return fail(DecodeError::out_of_memory, p), false;
  std::memcpy(frames, frames_, used * sizeof(Frame));
  frames_ = frames;
  top_ = frames + used;
  frames_end_ = frames + wanted;
  return true;
}

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
    return fail(overlong ? DecodeError::overlong_varint : DecodeError::bad_tag, start);
  }
  bool end_group = (tag & 7) == wire::kEndGroup && tag >> 3 != 0;
  return fail(end_group ? DecodeError::unmatched_end_group : DecodeError::bad_tag, start);
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
  if (behind == nullptr) return fail(DecodeError::overlong_varint, p);
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

// The object behind a field that only its entry describes: of a singular field, made now if there is none; a new
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
  if (sub == nullptr) fail(DecodeError::out_of_memory, p);
  if (sub != nullptr && field.label == schema::kLabelSingular) pointer->set(sub);
  return sub;
}

// ---- strings by the general way; p is at the length
template <typename Memory>
const char* Decoder<Memory>::string(const char* p, raw::Words* to, bool check_utf8) {
  uint32_t size;
  p = length(p, &size);
  if (p == nullptr) [[unlikely]]
    return nullptr;
  if (options_.alias && size >= options_.min_alias_size && string_alias(p, to, size)) {
    if (check_utf8 && !is_valid_utf8(to->begin(), size)) [[unlikely]]
      return fail(DecodeError::bad_utf8, p);
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
      if (check_utf8 && !is_valid_utf8(p, size)) return fail(DecodeError::bad_utf8, p);
      if (!memory_.place_bytes(to, p, size)) return fail(DecodeError::out_of_memory, p);
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
    if (bytes == nullptr) return fail(DecodeError::out_of_memory, p);
    to->meta &= ~kMetaBelowBack;
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

template <typename Memory>
DecodeResult Decoder<Memory>::run(uint32_t message_index, char* object, const std::string_view* pieces, size_t count,
                                  size_t total) {
  handlers_ = Handlers::table(options_.alias);
  min_alias_size_ = options_.min_alias_size == 0 ? 1 : options_.min_alias_size;
  frames_ = top_ = inline_frames_;
  auto limit = static_cast<uint32_t>(options_.depth_limit < 0 ? 0 : options_.depth_limit);
  frames_end_ = frames_ + (limit < Memory::kInlineFrames ? limit : Memory::kInlineFrames);
  const char* p = input_.start(pieces, count, total, options_.terminate_aliases);
  p = Handlers::start(this, p, object, image_.message(message_index));
  DecodeResult result;
  if (p != nullptr) [[likely]] {
    *pending_nul_ = '\0';
    result.offset = total;
    return result;
  }
  result.error = error_;
  result.offset = error_offset_;
  if (error_message_ != nullptr) result.message_name = image_.name(error_message_->name);
  result.field_number = error_field_ != 0 ? error_field_ : unknown_number_;
  return result;
}

#undef DROVER_CHECK_TAG
#undef DROVER_GO
#undef DROVER_NEXT
#undef DROVER_HANDLER

}  // namespace drover
