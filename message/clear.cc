#include "message/clear.h"

#include <cstring>

#include "message/raw.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::MessageType;

constexpr uint32_t kBelowBack = (1u << raw::Words::kBackShift) - 1;

void release_object(const MessageType& type, char* object, Arena* arena, int depth);

void release_string(raw::Words* string, Arena* arena) {
  if (string->data != 0 && !string->borrowed()) arena->recycle(string->begin(), string->string_storage());
}

void release_elements(const MessageType& type, const FieldEntry& field, raw::Words* repeated, Arena* arena, int depth) {
  if (repeated->data == 0) return;
  if (schema::is_message_kind(field.kind)) {
    auto* pointers = reinterpret_cast<raw::Pointer*>(repeated->begin());
    for (uint32_t i = 0; i < repeated->size; ++i) {
      if (char* element = pointers[i].get()) release_object(type.sub(field), element, arena, depth);
    }
  } else if (schema::is_string_kind(field.kind)) {
    auto* strings = reinterpret_cast<raw::Words*>(repeated->begin());
    for (uint32_t i = 0; i < repeated->size; ++i) release_string(strings + i, arena);
  }
  size_t prefix = schema::is_string_kind(field.kind) ? sizeof(OwnerWord) : 0;
  forget_terminated_copies(repeated->begin(), repeated->capacity() * size_t{schema::kStorageOfKind[field.kind]});
  arena->recycle(repeated->begin() - prefix,
                 prefix + repeated->capacity() * size_t{schema::kStorageOfKind[field.kind]});
}

// Gives back what the field holds; the field itself still has to be zeroed.
void release_field(const MessageType& type, char* object, const FieldEntry& field, Arena* arena, int depth) {
  if (field.label != schema::kLabelSingular) {
    release_elements(type, field, raw::words(object, field.offset), arena, depth);
  } else if (schema::is_string_kind(field.kind)) {
    release_string(raw::words(object, field.offset), arena);
  } else if (schema::is_message_kind(field.kind)) {
    if (char* sub = raw::pointer(object, field.offset)->get()) release_object(type.sub(field), sub, arena, depth);
  }
}

void release_content(const MessageType& type, char* object, Arena* arena, int depth) {
  for (const FieldEntry& field : type.fields()) {
    if (raw::holds_its_slot(object, field)) release_field(type, object, field, arena, depth);
  }
  auto* unknown = raw::pointer(object, offsetof(MessageHeader, unknown));
  if (auto* string = reinterpret_cast<raw::Words*>(unknown->get())) {
    release_string(string, arena);
    arena->recycle(string, sizeof(raw::Words));
  }
}

void release_object(const MessageType& type, char* object, Arena* arena, int depth) {
  if (depth == 0) return;
  release_content(type, object, arena, depth - 1);
  size_t size = type.entry().object_size;
  forget_terminated_copies(object, size);
  arena->recycle(object, size);
}

// Zeroes everything but the owner, and the words by which Strings and Repeateds find it: the user may hold a pointer to
// one.
void zero_content(const MessageType& type, char* object) {
  const schema::MessageEntry& entry = type.entry();
  raw::store<int64_t>(object + offsetof(MessageHeader, unknown), 0);
  std::memset(object + sizeof(MessageHeader), 0, schema::object_prefix_size(entry) - sizeof(MessageHeader));
  for (const FieldEntry& field : type.fields()) {
    uint32_t storage = schema::field_storage(field.kind, field.label);
    char* at = object + field.offset;
    if (field.case_offset != 0) {
      std::memset(at, 0, storage > 8 ? storage : 8);
    } else if (storage >= sizeof(raw::Words)) {
      auto* words = reinterpret_cast<raw::Words*>(at);
      *words = {0, 0, words->meta & ~kBelowBack};
      if (storage > sizeof(raw::Words)) raw::store<int64_t>(at + sizeof(raw::Words), 0);  // a map's index
    } else {
      std::memset(at, 0, storage);
    }
  }
}

// Zeroes a field that has been released, and its presence.
void zero_field(char* object, const FieldEntry& field) {
  const uint32_t storage = schema::field_storage(field.kind, field.label);
  char* at = object + field.offset;
  if (field.case_offset != 0) {
    std::memset(at, 0, storage > 8 ? storage : 8);
    raw::store<uint32_t>(object + field.case_offset, 0);
    return;
  }
  if (field.has_bit != schema::kNoHasBit) raw::clear_has_bit(object, field.has_bit);
  if (storage < sizeof(raw::Words)) {
    std::memset(at, 0, storage);
    return;
  }
  auto* words = reinterpret_cast<raw::Words*>(at);
  *words = {0, 0, words->meta & ~kBelowBack};
  if (storage > sizeof(raw::Words)) raw::store<int64_t>(at + sizeof(raw::Words), 0);  // a map's index
}

}  // namespace

void clear_content(const MessageType& type, char* object, Arena* arena) {
  if (arena != nullptr) release_content(type, object, arena, kMaxDepth);
  zero_content(type, object);
}

void clear_field_content(const MessageType& type, char* object, const FieldEntry& field, Arena* arena) {
  if (arena != nullptr) release_field(type, object, field, arena, kMaxDepth);
  zero_field(object, field);
}

}  // namespace drover::message
