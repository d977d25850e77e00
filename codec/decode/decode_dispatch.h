// From tag to handler, into a sub-message and out of a message again.
//
//   next:  tag at p -> slot -> op -> handler          at_limit:  end of the innermost message, or of a piece of input
//
// The tag's first byte alone finds a slot: numbers 1..15 have slots of their own, and numbers with a tag of two bytes
// share slots 16..31 by their low four bits. A slot's handler checks that p is at the tag of its step, reads the field
// and ends in DROVER_DECODE_NEXT(). The handlers call each other through these macros, private to codec/decode/:
//
//   DROVER_DECODE_HANDLER(name)   a handler's signature        DROVER_DECODE_GO(handler)   a tail call of another one
//   DROVER_DECODE_NEXT()          on to the next field
#pragma once

#include "codec/decode/decoder.h"

namespace drover {

#define DROVER_DECODE_HANDLER(name)                                                                              \
  DROVER_HANDLER_CALL const char* name(Decoder* d, const char* p, char* object, const char* slots, uint64_t has, \
                                       const FieldStep* step, uint64_t tag, const void* table)
#if DROVER_MUSTTAIL
#define DROVER_DECODE_GO(handler) [[clang::musttail]] return handler(d, p, object, slots, has, step, tag, table)
#define DROVER_DECODE_NEXT() DROVER_DECODE_GO(Dispatch::next)
#else
#define DROVER_DECODE_GO(handler) return handler(d, p, object, slots, has, step, tag, table)
#define DROVER_DECODE_NEXT() return Dispatch::leave_to_loop(d, p, object, slots, has, step)
#endif

template <typename Memory>
struct Decoder<Memory>::Dispatch {
  static DROVER_INLINE DROVER_DECODE_HANDLER(next) {
    if (!d->input_.inside(p)) [[unlikely]]
      DROVER_DECODE_GO(at_limit);
    tag = raw::load<uint16_t>(p);
    step = reinterpret_cast<const FieldStep*>(slots + (tag & 0xf8));
    Handler handler = static_cast<const Handler*>(table)[step->op];
    DROVER_DECODE_GO(handler);
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
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(begin) { DROVER_DECODE_NEXT(); }
#endif

  // ---- ends
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(at_limit) {
    if (d->input_.at_end(p)) [[likely]]
      DROVER_DECODE_GO(leave);
    DROVER_DECODE_GO(at_limit_slow);
  }
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(at_limit_slow) {
    const char* position = p;
    if (!d->input_.done_slow(&position)) {
      p = position;
      DROVER_DECODE_NEXT();
    }
    if (position == nullptr) {
      p = d->fail_past_limit();
      DROVER_DECODE_GO(failed);
    }
    DROVER_DECODE_GO(leave);
  }

  // The innermost message is whole: its limit is reached.
  static DROVER_INLINE DROVER_DECODE_HANDLER(leave) {
    if (d->end_group_ != 0) [[unlikely]] {
      p = d->fail(DecodeError::kUnmatchedEndGroup, p);
      DROVER_DECODE_GO(failed);
    }
    DROVER_DECODE_GO(leave_message);
  }
  static DROVER_INLINE DROVER_DECODE_HANDLER(leave_message) {
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
      DROVER_DECODE_GO(leave_map_entry);
    object = frame->object;
    slots = frame->slots;
    DROVER_DECODE_NEXT();
  }
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(leave_map_entry) {
    char* entry = object;
    object = d->top_->object;
    slots = d->top_->slots;
    if (!d->end_map_entry(p, object, d->field_at(step), entry)) [[unlikely]] {
      p = nullptr;
      DROVER_DECODE_GO(failed);
    }
    DROVER_DECODE_NEXT();
  }

  // Says where, and leaves what was read so far in the objects.
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(failed) {
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

  // Into the object `entering_`, which the field of `step` holds; p is at the length, or behind a start-group tag.
  static DROVER_NOINLINE DROVER_DECODE_HANDLER(enter) {
    const FieldEntry& field = d->field_at(step);
    const MessageEntry& sub = d->image_.message(field.sub);
    if (d->top_ == d->frames_end_ && !d->more_frames(p)) [[unlikely]] {
      p = nullptr;
      DROVER_DECODE_GO(failed);
    }
    Frame* frame = d->top_;
    bool group = field.kind == static_cast<uint8_t>(Kind::kGroup);
    frame->outer = 0;
    if (!group) [[likely]] {
      uint32_t size;
      p = d->length(p, &size);
      if (p == nullptr) [[unlikely]]
        DROVER_DECODE_GO(failed);
      frame->outer = d->input_.push_limit(p, size);
    }
    uint32_t end_group = group ? wire::make_tag(field.number, wire::kEndGroup) : 0;
    d->push(frame, object, slots, has, step, field.label == schema::kLabelMap, end_group, sub);
    object = d->entering_;
    slots = d->slots_of(sub);
    has = 0;
    step = nullptr;
    DROVER_DECODE_NEXT();
  }
};

// The has-bits found, into the object.
template <typename Memory>
DROVER_INLINE void Decoder<Memory>::flush(char* object, uint64_t has) {
  has &= kRealHasBits;
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
  if (used >= limit) return fail(DecodeError::kDepthLimit, p), false;
  size_t wanted = used * 2 < limit ? used * 2 : limit;
  auto* frames = static_cast<Frame*>(arena_.allocate(wanted * sizeof(Frame)));
  if (frames == nullptr) return fail(DecodeError::kOutOfMemory, p), false;
  std::memcpy(frames, frames_, used * sizeof(Frame));
  frames_ = frames;
  top_ = frames + used;
  frames_end_ = frames + wanted;
  return true;
}

}  // namespace drover
