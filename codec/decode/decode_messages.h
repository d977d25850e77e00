// Handlers of sub-messages, groups and maps, singular and repeated: they find or make the object, and enter it.
#pragma once

#include "codec/decode/decode_lookup.h"

namespace drover {

template <typename Memory>
struct Decoder<Memory>::Messages {
  template <int kTagSize>
  static DROVER_DECODE_HANDLER(sub_message) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    tag = reinterpret_cast<uintptr_t>(place(object, step));
    DROVER_DECODE_GO((enter_new<sub_message_slow, false>));
  }
  // Into a new object, which the pointer at `tag` will lead to. This is the usual case: a length of up to three bytes,
  // a null pointer, memory and a frame available. Every other case goes to `slow` before anything has changed.
  template <Handler slow, bool kElement>
  static DROVER_INLINE DROVER_DECODE_HANDLER(enter_new) {
    auto* pointer = reinterpret_cast<raw::Pointer*>(static_cast<uintptr_t>(tag));
    if (pointer->offset != 0 || d->top_ == d->frames_end_) [[unlikely]]
      DROVER_DECODE_GO(slow);
    uint32_t size;
    const char* begin = Decoder::short_length(p, &size);
    if (begin == nullptr) [[unlikely]]
      DROVER_DECODE_GO(slow);
    int64_t behind = d->input_.left(begin) - static_cast<int64_t>(size);
    if (behind < 0) [[unlikely]]
      DROVER_DECODE_GO(slow);
    const MessageEntry& entry = d->image_.message(d->field_at(step).sub);
    char* sub = d->new_message_at_hand(entry);
    if (sub == nullptr) [[unlikely]]
      DROVER_DECODE_GO(slow);
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
    DROVER_DECODE_NEXT();
  }
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(sub_message_slow) {  // p is behind the tag
    auto* pointer = reinterpret_cast<raw::Pointer*>(place(object, step));
    char* sub = pointer->get();
    if (sub == nullptr) {
      sub = d->new_message(d->image_.message(d->field_at(step).sub));
      if (sub == nullptr) {
        p = d->fail(DecodeError::kOutOfMemory, p);
        DROVER_DECODE_GO(Dispatch::failed);
      }
      pointer->set(sub);
    }
    d->entering_ = sub;
    DROVER_DECODE_GO(Dispatch::enter);
  }
  // A group is entered the slow way.
  template <int kTagSize>
  static DROVER_DECODE_HANDLER(group) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    DROVER_DECODE_GO(sub_message_slow);
  }

  template <int kTagSize>
  static DROVER_DECODE_HANDLER(repeated_message) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    raw::Words* to = words(object, step);
    if (to->size >= to->capacity()) DROVER_DECODE_GO(repeated_message_slow<kTagSize>);
    tag = reinterpret_cast<uintptr_t>(to->begin() + size_t{to->size} * sizeof(raw::Pointer));
    DROVER_DECODE_GO((enter_new<repeated_message_slow<kTagSize>, true>));
  }
  // A group is entered the slow way, here too.
  template <int kTagSize>
  static DROVER_DECODE_HANDLER(repeated_group) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    DROVER_DECODE_GO(repeated_message_slow<kTagSize>);
  }
  template <int kTagSize>
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(repeated_message_slow) {  // p is behind the tag
    const FieldEntry& field = d->field_at(step);
    d->entering_ = d->add_message(p, place(object, step), field, kTagSize, step->tag);
    if (d->entering_ == nullptr) [[unlikely]] {
      p = nullptr;
      DROVER_DECODE_GO(Dispatch::failed);
    }
    DROVER_DECODE_GO(Dispatch::enter);
  }

  template <int kTagSize>
  static DROVER_DECODE_HANDLER(map) {
    DROVER_DECODE_CHECK_TAG();
    p += kTagSize;
    d->entering_ = d->new_message(d->image_.message(d->field_at(step).sub));
    if (d->entering_ == nullptr) [[unlikely]] {
      p = d->fail(DecodeError::kOutOfMemory, p);
      DROVER_DECODE_GO(Dispatch::failed);
    }
    DROVER_DECODE_GO(Dispatch::enter);
  }
};

}  // namespace drover
