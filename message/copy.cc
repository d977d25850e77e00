// Merge into an object's own arena, and the linear copy for sending.
#include <bit>

#include "message/operations.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::MessageType;

// ---- merge

class Merger {
 public:
  explicit Merger(OwnerWord* owner) : owner_(owner) {}

  bool merge(const MessageType& type, char* to, const char* from, int depth) {
    if (depth == 0) return false;
    for (const FieldEntry& field : type.fields()) {
      bool done = field.label == schema::kLabelSingular   ? singular(type, to, from, field, depth - 1)
                  : field.label == schema::kLabelRepeated ? repeated(type, to, from, field, depth - 1)
                                                          : map(type, to, from, field, depth - 1);
      if (!done) return false;
    }
    unknown(to, from);
    return true;
  }

 private:
  Arena* arena() {
    if (arena_ == nullptr) arena_ = arena_of(owner_);
    return arena_;
  }

  char* new_object(const MessageType& type) {
    auto* object = static_cast<char*>(arena()->allocate_recycled(type.entry().object_size));
    if (object == nullptr) fatal("out of memory for a message");
    std::memset(object, 0, type.entry().object_size);
    raw::store(object, reinterpret_cast<OwnerWord>(arena()));
    return object;
  }

  // Takes over a oneof's slot, or sets the has-bit.
  void set_present(char* to, const FieldEntry& field) {
    if (field.case_offset != 0) {
      char* word = to + field.case_offset;
      if (raw::load<uint32_t>(word) == field.number) return;
      std::memset(to + field.offset, 0, schema::is_string_kind(field.kind) ? 16 : 8);
      raw::store(word, field.number);
    } else if (field.has_bit != schema::kNoHasBit) {
      raw::set_has_bit(to, field.has_bit);
    }
  }

  bool singular(const MessageType& type, char* to, const char* from, const FieldEntry& field, int depth) {
    if (!raw::present(from, field)) return true;
    const char* source = from + field.offset;
    char* target = to + field.offset;
    if (schema::is_message_kind(field.kind)) {
      const MessageType sub = type.sub(field);
      bool was_there = raw::present(to, field);
      set_present(to, field);
      auto* pointer = reinterpret_cast<raw::Pointer*>(target);
      if (pointer->get() == nullptr) {
        pointer->set(new_object(sub));
      } else if (!was_there) {
        clear(sub, reinterpret_cast<Message*>(pointer->get()));
      }
      return merge(sub, pointer->get(), reinterpret_cast<const raw::Pointer*>(source)->get(), depth);
    }
    set_present(to, field);
    if (schema::is_string_kind(field.kind)) {
      reinterpret_cast<String*>(target)->assign_string(arena(), *reinterpret_cast<const String*>(source));
    } else {
      std::memcpy(target, source, schema::kStorageOfKind[field.kind]);
    }
    return true;
  }

  bool repeated(const MessageType& type, char* to, const char* from, const FieldEntry& field, int depth) {
    const raw::Words* source = raw::words(from, field.offset);
    if (source->size == 0) return true;
    bool strings = schema::is_string_kind(field.kind), pointers = schema::is_message_kind(field.kind);
    auto* target = reinterpret_cast<RepeatedBase*>(to + field.offset);
    uint32_t old = static_cast<uint32_t>(target->size()), count = source->size;
    size_t stride = schema::kStorageOfKind[field.kind];
    if (count > RepeatedBase::kMaxElements - old) fatal("a repeated field grows past 2^31 - 1 elements");
    auto elements = strings    ? RepeatedBase::Elements::kStrings
                    : pointers ? RepeatedBase::Elements::kPointers
                               : RepeatedBase::Elements::kScalars;
    if (!target->reserve_in(arena(), old + count, stride, elements)) fatal("out of memory for a repeated field");
    char* at = static_cast<char*>(target->raw_data()) + old * stride;
    target->set_raw_size(old + count);
    if (!strings && !pointers) {
      std::memcpy(at, source->begin(), count * stride);
      return true;
    }
    for (uint32_t i = 0; i < count; ++i, at += stride) {
      const char* element = source->begin() + i * stride;
      if (strings) {
        reinterpret_cast<String*>(at)->assign_string(arena(), *reinterpret_cast<const String*>(element));
        continue;
      }
      auto* pointer = reinterpret_cast<raw::Pointer*>(at);
      if (pointer->get() == nullptr) {
        pointer->set(new_object(type.sub(field)));
      } else {
        clear(type.sub(field), reinterpret_cast<Message*>(pointer->get()));
      }
      if (!merge(type.sub(field), pointer->get(), reinterpret_cast<const raw::Pointer*>(element)->get(), depth)) {
        return false;
      }
    }
    return true;
  }

  bool map(const MessageType& type, char* to, const char* from, const FieldEntry& field, int depth) {
    auto* source = reinterpret_cast<const MapBase*>(from + field.offset);
    auto* target = reinterpret_cast<MapBase*>(to + field.offset);
    const MessageType entry = type.sub(field);
    const FieldEntry& key = entry.fields()[0];
    for (uint32_t i = 0; i < static_cast<uint32_t>(source->size()); ++i) {
      char* added = new_object(entry);
      if (!merge(entry, added, static_cast<const char*>(source->entry(i)), depth)) return false;
      if (!target->insert_entry(arena(), added, key.offset, raw::map_key_kind(key))) fatal("out of memory for a map");
    }
    return true;
  }

  void unknown(char* to, const char* from) {
    auto* source = reinterpret_cast<const String*>(raw::pointer(from, offsetof(MessageHeader, unknown))->get());
    if (source == nullptr || source->empty()) return;
    raw::Pointer* pointer = raw::pointer(to, offsetof(MessageHeader, unknown));
    if (pointer->get() == nullptr) {
      void* string = arena()->allocate_zeroed(sizeof(String));
      if (string == nullptr) fatal("out of memory for unknown fields");
      pointer->set(string);
    }
    if (!reinterpret_cast<String*>(pointer->get())->append_in(arena(), source->view())) {
      fatal("unknown fields grow past 2 GiB - 1");
    }
  }

  OwnerWord* owner_;
  Arena* arena_ = nullptr;
};

// ---- linear copy

// From this size on, bytes that the arena may borrow are referred to instead of copied.
constexpr size_t kBorrowFrom = 256;

// Hands out addresses in one run; with no run yet (begin == null) it only counts.
class Linearizer {
 public:
  Linearizer(const Arena* arena, char* begin) : arena_(arena), begin_(begin) {}
  size_t used() const { return used_; }

  // The object's copy; null if too deep. `*fine` stays true unless that happened.
  char* object(const MessageType& type, const char* from, int depth) {
    size_t size = type.entry().object_size;
    char* to = take(size);
    if (depth == 0) {
      fine_ = false;
      return to;
    }
    if (to != nullptr) {
      std::memcpy(to, from, size);
      raw::store(to, reinterpret_cast<OwnerWord>(arena_));
      raw::store<int64_t>(to + offsetof(MessageHeader, unknown), 0);
    }
    for (const FieldEntry& field : type.fields()) {
      const char* source = from + field.offset;
      char* target = to == nullptr ? nullptr : to + field.offset;
      if (field.label != schema::kLabelSingular) {
        repeated(type, field, reinterpret_cast<const raw::Words*>(source), target, depth - 1);
        continue;
      }
      bool relative = schema::is_string_kind(field.kind) || schema::is_message_kind(field.kind);
      if (!relative) continue;
      if (field.case_offset != 0 && raw::load<uint32_t>(from + field.case_offset) != field.number) continue;
      element(type, field, source, target, raw::present(from, field), depth - 1);
    }
    const char* unknown = raw::pointer(from, offsetof(MessageHeader, unknown))->get();
    if (unknown != nullptr) {
      char* copy = take(sizeof(String));
      string(reinterpret_cast<const raw::Words*>(unknown), copy);
      if (to != nullptr) raw::pointer(to, offsetof(MessageHeader, unknown))->set(copy);
    }
    return to;
  }
  bool fine() const { return fine_; }

 private:
  char* take(size_t size) {
    char* at = begin_ == nullptr ? nullptr : begin_ + used_;
    used_ += (size + 7) & ~size_t{7};
    return at;
  }

  void string(const raw::Words* from, char* to) {
    auto* words = reinterpret_cast<raw::Words*>(to);
    if (from->size == 0) {
      if (words != nullptr) *words = {0, 0, 0};
      return;
    }
    if (arena_ != nullptr && from->size >= kBorrowFrom && arena_->may_borrow(from->begin(), from->size)) {
      if (words == nullptr) return;
      *words = {0, from->size, String::kBorrowed | (from->meta & String::kUnterminated)};
      words->set_begin(from->begin());
      return;
    }
    char* bytes = take(size_t{from->size} + 1);
    if (words == nullptr) return;
    std::memcpy(bytes, from->begin(), from->size);
    bytes[from->size] = '\0';
    *words = {0, from->size, 0};
    words->set_begin(bytes);
  }

  void element(const MessageType& type, const FieldEntry& field, const char* from, char* to, bool there, int depth) {
    if (schema::is_string_kind(field.kind)) {
      string(reinterpret_cast<const raw::Words*>(from), to);
      return;
    }
    const char* sub = there ? reinterpret_cast<const raw::Pointer*>(from)->get() : nullptr;
    char* copy = sub == nullptr ? nullptr : object(type.sub(field), sub, depth);
    if (to == nullptr) return;
    if (copy == nullptr) {
      raw::store<int64_t>(to, 0);
    } else {
      reinterpret_cast<raw::Pointer*>(to)->set(copy);
    }
  }

  void repeated(const MessageType& type, const FieldEntry& field, const raw::Words* from, char* to, int depth) {
    auto* words = reinterpret_cast<raw::Words*>(to);
    if (words != nullptr) {
      *words = {0, from->size, 0};
      if (field.label == schema::kLabelMap) raw::store<int64_t>(to + sizeof(raw::Words), 0);
    }
    if (from->size == 0) return;
    bool strings = schema::is_string_kind(field.kind), messages = schema::is_message_kind(field.kind);
    size_t stride = schema::kStorageOfKind[field.kind];
    if (strings) {
      char* owner = take(sizeof(OwnerWord));
      if (owner != nullptr) raw::store(owner, reinterpret_cast<OwnerWord>(arena_));
    }
    char* array = take(from->size * stride);
    if (words != nullptr) words->set_begin(array);
    if (!strings && !messages) {
      if (array != nullptr) std::memcpy(array, from->begin(), from->size * stride);
      return;
    }
    for (uint32_t i = 0; i < from->size; ++i) {
      element(type, field, from->begin() + i * stride, array == nullptr ? nullptr : array + i * stride, true, depth);
    }
  }

  const Arena* arena_;
  char* begin_;
  size_t used_ = 0;
  bool fine_ = true;
};

}  // namespace

bool merge(const MessageType& type, Message* to, const Message& from) {
  if (to == &from) fatal("a message is merged into itself");
  return Merger(to->drover_owner()).merge(type, to->drover_bytes(), from.drover_bytes(), kMaxDepth);
}

size_t linearized_size(const MessageType& type, const Message& object) {
  Linearizer counter(nullptr, nullptr);
  counter.object(type, object.drover_bytes(), kMaxDepth);
  return counter.used();
}

Message* deep_copy_into(const MessageType& type, const Message& object, Arena* arena) {
  Linearizer counter(arena, nullptr);
  counter.object(type, object.drover_bytes(), kMaxDepth);
  if (!counter.fine()) return nullptr;
  auto* memory = static_cast<char*>(arena->allocate(counter.used()));
  if (memory == nullptr) return nullptr;
  Linearizer copier(arena, memory);
  return reinterpret_cast<Message*>(copier.object(type, object.drover_bytes(), kMaxDepth));
}

}  // namespace drover::message
