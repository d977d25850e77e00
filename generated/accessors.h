// The runtime of the accessors of generated classes: presence, sub-messages, oneof slots, defaults, enum names.
//
// Kept out of the generated files so that those stay small. `owner` is the owner word at the front of the object
// (object/owner.h); allocations come from the arena behind it, and end the process when it is out of memory, as
// std::bad_alloc would. Thread-safety: as the object's.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "object/offset_ptr.h"
#include "object/owner.h"
#include "object/string.h"
#include "schema/message_type.h"

namespace drover::accessors {

// ---- has-bits
inline bool has(const uint32_t* words, uint32_t bit) { return (words[bit / 32] >> (bit % 32) & 1) != 0; }
inline void set_has(uint32_t* words, uint32_t bit) { words[bit / 32] |= 1u << (bit % 32); }
inline void clear_has(uint32_t* words, uint32_t bit) { words[bit / 32] &= ~(1u << (bit % 32)); }

// ---- sub-messages: present if the pointer is not null
template <typename T>
const T& message_or_default(const OffsetPtr<T>& field) {
  const T* message = field.get();
  return message != nullptr ? *message : T::default_instance();
}
template <typename T>
T* mutable_message(OffsetPtr<T>* field, OwnerWord* owner) {
  if (!*field) {
    T* made = arena_of(owner)->template create<T>();
    if (made == nullptr) fatal("out of memory for a sub-message");
    field->set(made);
  }
  return field->get();
}
// A copy on the heap that the caller owns; the field's own content is dropped. Null if the field was not set.
template <typename T>
T* release_message(OffsetPtr<T>* field) {
  if (!*field) return nullptr;
  T* copy = new T(**field);
  field->set(nullptr);
  return copy;
}
// The field's content itself, which its arena keeps; the field is then not set. Null if it is not in an arena (or not
// set), and the field then stays as it is.
template <typename T>
T* detach_from_arena(OffsetPtr<T>* field) {
  T* part = field->get();
  if (part == nullptr || part->GetArena() == nullptr) return nullptr;
  field->set(nullptr);
  return part;
}
// Takes `value` over: from the heap it is moved (copied if need be) and deleted, from an arena it is copied.
template <typename T>
void set_allocated_message(OffsetPtr<T>* field, OwnerWord* owner, T* value) {
  if (value == nullptr) {
    field->set(nullptr);
  } else if (field->get() != value) {
    *mutable_message(field, owner) = *value;
    if (value->GetArena() == nullptr) delete value;
  }
}

// ---- strings
inline std::string* release_string(String* field) {
  auto* copy = new std::string(field->view());
  field->clear();
  return copy;
}
// A String that refers to a literal, for fields with a default; never freed.
const String* default_string(const char* bytes, size_t size);
const String& empty_string();

// ---- oneofs: one slot for all members, and a word that holds the number of the one that is set
template <typename T>
T* slot_as(unsigned char* slot) {
  return reinterpret_cast<T*>(slot);
}
template <typename T>
const T* slot_as(const unsigned char* slot) {
  return reinterpret_cast<const T*>(slot);
}
// The slot as member `number`, which starts out as zero if another one was set before.
template <typename T, size_t kSize>
T* select(unsigned char (&slot)[kSize], uint32_t* case_word, uint32_t number) {
  static_assert(sizeof(T) <= kSize);
  if (*case_word != number) {
    std::memset(slot, 0, kSize);
    *case_word = number;
  }
  return slot_as<T>(slot);
}
template <size_t kSize>
void clear_oneof(unsigned char (&slot)[kSize], uint32_t* case_word) {
  std::memset(slot, 0, kSize);
  *case_word = 0;
}

// ---- enums
struct EnumName {
  std::string_view name;
  int number;
};
// The first declared name of `number`; the empty string if it has none. Valid for the life of the process.
const std::string& enum_name(const schema::Image& image, uint32_t index, int number);
// Looks `name` up in a table that ascends by name.
bool enum_parse(const EnumName* names, size_t count, std::string_view name, int* number);

// ---- google.protobuf.Any
std::string type_url(std::string_view prefix, std::string_view full_name);
bool type_url_names(std::string_view url, std::string_view full_name);

}  // namespace drover::accessors
