// ObjectWalk<Walker, Memory, Options>: the way through an object that the encoder and the preserializer share, private
// to codec/. It visits a message's steps (docs/formats.md, FieldStep) and a field's elements from the last to the
// first; the Walker decides what is written for a field. Freestanding.
//
//   whole() -> begin -> next -> handler of a step -> next -> ... -> end
//
// Handlers end in a tail call to the next step's (codec/compiler.h). Every function that writes takes the position at
// which it writes, and returns the new one, or null after fail().
//
// A Walker derives from it, befriends it and WalkHandlers, and has
//
//   handlers()                                     one for each op of a step and size of tag
//   written(p)                                     bytes so far
//   value(p, at, entry, field)                     a string or scalar; has-bits and zero are dealt with
//   packed(p, range, entry, field)
//   sub_message(p, object, sub, entry, field)
//   empty_message(p, entry, field)                 a map entry's value that is not there
//   unknown_bytes(p, data, size, entry)
#pragma once

#include "codec/compiler.h"
#include "codec/encode/encode_memory.h"
#include "codec/encode/presence.h"
#include "object/owner.h"
#include "schema/image.h"

namespace drover {

#define DROVER_WALK_HANDLER(Walker, name)                                                                       \
  DROVER_HANDLER_CALL char* name([[maybe_unused]] Walker* e, char* p, [[maybe_unused]] const char* object,      \
                                 [[maybe_unused]] const schema::FieldStep* step, [[maybe_unused]] uint64_t has, \
                                 [[maybe_unused]] const void* table)
#if DROVER_MUSTTAIL
#define DROVER_WALK_GO(handler) [[clang::musttail]] return handler(e, p, object, step, has, table)
#define DROVER_WALK_NEXT() DROVER_WALK_GO(next)
#else
#define DROVER_WALK_GO(handler) return handler(e, p, object, step, has, table)
#define DROVER_WALK_NEXT() return p
#endif

template <typename Walker, typename Memory, typename Options>
class ObjectWalk {
 public:
  using FieldEntry = schema::FieldEntry;
  using FieldStep = schema::FieldStep;
  using MessageEntry = schema::MessageEntry;
  using Handler = char*(DROVER_HANDLER_CALL*)(Walker*, char*, const char*, const FieldStep*, uint64_t, const void*);

  EncodeError error() const { return error_; }
  // With an error: where.
  const MessageEntry& error_message() const { return *error_message_; }
  uint32_t error_field() const { return error_field_; }

 protected:
  // A hostile object may refer to the same sub-objects many times: fields looked at, beyond the allowance, are bounded
  // by the output.
  static constexpr uint64_t kWorkPerByte = 4;
  static constexpr uint64_t kWorkPerObject = 2;         // an object on an untouched page costs a fault
  static constexpr uint64_t kWorkBetweenChecks = 1024;  // of the allowance and of the pause

  char* fail(EncodeError error, const MessageEntry& entry, uint32_t field) {
    if (error_ == EncodeError::kOk) {
      error_ = error;
      error_message_ = &entry;
      error_field_ = field;
    }
    return nullptr;
  }
  const FieldEntry& field_of(const FieldStep* step) const { return image_.fields(*entry_).first[step->position - 1]; }

  bool may_go_on(const char* p, const MessageEntry& entry);
  bool may_go_on_slow(const char* p, const MessageEntry& entry);
  char* begin_slow(char* p, const char* object, const MessageEntry& entry, uint64_t has);
  char* generic(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field);
  char* repeated(char* p, const char* object, const MessageEntry& entry, const FieldEntry& field);
  char* repeated_messages(char* p, LoadedRange range, const MessageEntry& entry, const FieldEntry& field);

  const schema::Image image_;
  Memory memory_;
  const Options& options_;
  const MessageEntry* entry_;  // the innermost message
  int depth_;
  EncodeError error_ = EncodeError::kOk;
  uint32_t error_field_;               // with an error
  const MessageEntry* error_message_;  // with an error
  uint64_t work_ = 0;                  // fields and objects looked at; with bounds only
  uint64_t check_at_;                  // the work at which it is looked at again

 private:
  friend Walker;  // which alone derives from it
  ObjectWalk(const schema::Image& image, Memory memory, const Options& options)
      : image_(image), memory_(memory), options_(options), depth_(options.depth_limit), check_at_(first_check()) {}
  uint64_t first_check() const {
    if constexpr (Memory::kTrusted) return 0;  // never looked at
    const bool pauses = requires { options_.pause; };
    return pauses && options_.work_allowance > kWorkBetweenChecks ? kWorkBetweenChecks : options_.work_allowance;
  }

  Walker& walker() { return static_cast<Walker&>(*this); }
};

// Fields looked at are charged against the bytes written so far, not against the limit: a small object that refers to
// itself ends soon under any limit.
template <typename Walker, typename Memory, typename Options>
DROVER_INLINE bool ObjectWalk<Walker, Memory, Options>::may_go_on(const char* p, const MessageEntry& entry) {
  work_ += entry.field_count + kWorkPerObject;
  if (work_ <= check_at_) [[likely]]
    return true;
  return may_go_on_slow(p, entry);
}

template <typename Walker, typename Memory, typename Options>
DROVER_NOINLINE bool ObjectWalk<Walker, Memory, Options>::may_go_on_slow(const char* p, const MessageEntry& entry) {
  check_at_ = work_ + kWorkBetweenChecks;
  if (work_ > options_.work_allowance &&
      work_ - options_.work_allowance > kWorkPerByte * uint64_t{walker().written(p)}) {
    return fail(EncodeError::kTooMuchWork, entry, 0), false;
  }
  if constexpr (requires { options_.pause; }) {
    if (options_.pause != nullptr && !options_.pause(options_.pause_context)) {
      return fail(EncodeError::kTooMuchWork, entry, 0), false;
    }
  }
  return true;
}

// The work before an object's fields: writes its unknown fields (which stand at the end) and checks that the required
// ones are there.
template <typename Walker, typename Memory, typename Options>
DROVER_NOINLINE char* ObjectWalk<Walker, Memory, Options>::begin_slow(char* p, const char* object,
                                                                      const MessageEntry& entry, uint64_t has) {
  if (options_.check_required && entry.required_count != 0) {
    const FieldEntry* missing = presence::missing_required(image_, memory_, object, entry, has);
    if (missing != nullptr) return fail(EncodeError::kMissingRequired, entry, missing->number);
  }
  LoadedRange range;
  EncodeError error = presence::load_unknown(memory_, object, &range);
  if (error != EncodeError::kOk) return fail(error, entry, 0);
  return range.size == 0 ? p : walker().unknown_bytes(p, range.data, range.size, entry);
}

// A singular field whose presence its step cannot say, or a group.
template <typename Walker, typename Memory, typename Options>
DROVER_NOINLINE char* ObjectWalk<Walker, Memory, Options>::generic(char* p, const char* object,
                                                                   const MessageEntry& entry, const FieldEntry& field) {
  const char* at = object + field.offset;
  if (field.label != schema::kLabelSingular) {
    return memory_.template load<uint32_t>(at + offsetof(raw::Words, size)) == 0
               ? p
               : walker().repeated(p, object, entry, field);
  }
  bool by_pointer = schema::is_message_kind(field.kind);
  bool map_entry = (entry.flags & schema::kMessageFlagMapEntry) != 0;
  if (field.case_offset != 0) {
    if (memory_.template load<uint32_t>(object + field.case_offset) != field.number) return p;
  } else if (field.has_bit != schema::kNoHasBit) {
    if (!presence::far_has_bit(memory_, object, field)) return p;
  } else if (!by_pointer && !map_entry && presence::is_zero(memory_, at, field)) {
    return p;
  }
  if (!by_pointer) return walker().value(p, at, entry, field);
  const MessageEntry& sub = image_.message(field.sub);
  EncodeError error = EncodeError::kOk;
  const char* inner = memory_.load_pointer(at, sub.object_size, &error);
  if (inner != nullptr) return walker().sub_message(p, inner, sub, entry, field);
  if (error != EncodeError::kOk) return fail(error, entry, field.number);
  return map_entry ? walker().empty_message(p, entry, field) : p;
}

template <typename Walker, typename Memory, typename Options>
DROVER_NOINLINE char* ObjectWalk<Walker, Memory, Options>::repeated(char* p, const char* object,
                                                                    const MessageEntry& entry,
                                                                    const FieldEntry& field) {
  uint32_t element_size = schema::kStorageOfKind[field.kind];
  EncodeError error = EncodeError::kOk;
  LoadedRange range;
  uint32_t alignment = element_size > 8 ? 8 : element_size;
  if (!memory_.load_range(object + field.offset, element_size, alignment, &range, &error)) {
    return fail(error, entry, field.number);
  }
  if (range.size == 0) return p;
  if (schema::is_message_kind(field.kind)) return repeated_messages(p, range, entry, field);
  if ((field.flags & schema::kFieldFlagPacked) != 0) return walker().packed(p, range, entry, field);
  for (uint32_t i = range.size; i-- > 0 && p != nullptr;) {
    p = walker().value(p, range.data + size_t{i} * element_size, entry, field);
  }
  return p;
}

template <typename Walker, typename Memory, typename Options>
char* ObjectWalk<Walker, Memory, Options>::repeated_messages(char* p, LoadedRange range, const MessageEntry& entry,
                                                             const FieldEntry& field) {
  const MessageEntry& sub = image_.message(field.sub);
  EncodeError error = EncodeError::kOk;
  for (uint32_t i = range.size; i-- > 0 && p != nullptr;) {
    const char* object = memory_.load_pointer(range.data + size_t{i} * 8, sub.object_size, &error);
    if (object == nullptr) {
      return fail(error == EncodeError::kOk ? EncodeError::kNullElement : error, entry, field.number);
    }
    p = walker().sub_message(p, object, sub, entry, field);
  }
  return p;
}

// The handlers that do not depend on what is written; a Walker's own derive from it.
template <typename Walker, typename Memory>
struct WalkHandlers {
  using FieldEntry = schema::FieldEntry;
  using FieldStep = schema::FieldStep;
  using MessageEntry = schema::MessageEntry;

  // All fields of an object, which Memory has checked to lie where object_size bytes may be read.
  static DROVER_INLINE char* whole(Walker* e, char* p, const char* object, const MessageEntry& entry) {
    if constexpr (!Memory::kTrusted) {
      if (!e->may_go_on(p, entry)) return nullptr;
    }
    uint64_t has = presence::first_has_bits(e->memory_, object, entry);
    bool unknown = e->memory_.template load<int64_t>(object + offsetof(MessageHeader, unknown)) != 0;
    if (unknown || e->options_.check_required) [[unlikely]] {
      p = e->begin_slow(p, object, entry, has);
      if (p == nullptr) return nullptr;
    }
    e->entry_ = &entry;
    return follow(e, p, object, e->image_.steps(entry) + entry.field_count, has);
  }

  // The fields of the steps before `step`.
  static DROVER_INLINE char* follow(Walker* e, char* p, const char* object, const FieldStep* step, uint64_t has) {
#if DROVER_MUSTTAIL
    return begin(e, p, object, step, has, static_cast<const void*>(e->handlers()));
#else
    for (;;) {
      do {
        --step;
      } while ((has >> (step->has_bit & 63) & 1) == 0);
      if (step->op == schema::kOpNone) return p;
      p = e->handlers()[step->op](e, p, object, step, has, nullptr);
      if (p == nullptr) return nullptr;
    }
#endif
  }

#if DROVER_MUSTTAIL
  static DROVER_INLINE DROVER_WALK_HANDLER(Walker, next) {
    do {
      --step;
    } while ((has >> (step->has_bit & 63) & 1) == 0);
    auto handler = static_cast<const typename Walker::Handler*>(table)[step->op];
    DROVER_WALK_GO(handler);
  }
  static DROVER_WALK_HANDLER(Walker, begin) { DROVER_WALK_NEXT(); }
#endif
  static DROVER_WALK_HANDLER(Walker, end) { return p; }

  static DROVER_INLINE bool by_value(const FieldStep* step) { return step->has_bit == schema::kStepByValue; }

  // ---- by the field's entry
  static DROVER_WALK_HANDLER(Walker, generic) {
    const MessageEntry* entry = e->entry_;
    p = e->generic(p, object, *entry, e->field_of(step));
    if (p == nullptr) return nullptr;
    e->entry_ = entry;
    DROVER_WALK_NEXT();
  }
  static DROVER_WALK_HANDLER(Walker, repeated) {
    if (e->memory_.template load<uint32_t>(object + step->offset + offsetof(raw::Words, size)) == 0) DROVER_WALK_NEXT();
    const MessageEntry* entry = e->entry_;
    p = e->repeated(p, object, *entry, e->field_of(step));
    if (p == nullptr) return nullptr;
    e->entry_ = entry;
    DROVER_WALK_NEXT();
  }
};

}  // namespace drover
