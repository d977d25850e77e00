#include "message/edit.h"

#include <algorithm>
#include <bit>

#include "message/operations.h"

namespace drover::raw {

char* new_object(const schema::MessageType& type, Arena* arena) {
  auto* object = static_cast<char*>(arena->allocate_recycled(type.entry().object_size));
  if (object == nullptr) return nullptr;
  std::memset(object, 0, type.entry().object_size);
  store(object, reinterpret_cast<OwnerWord>(arena));
  return object;
}

void mark_present(char* object, const schema::FieldEntry& field) {
  if (field.case_offset != 0) {
    if (load<uint32_t>(object + field.case_offset) == field.number) return;
    std::memset(object + field.offset, 0, schema::is_string_kind(field.kind) ? sizeof(String) : 8);
    store(object + field.case_offset, field.number);
  } else if (field.has_bit != schema::kNoHasBit) {
    set_has_bit(object, field.has_bit);
  }
}

char* mutable_sub_object(const schema::MessageType& type, char* object, const schema::FieldEntry& field, Arena* arena) {
  Pointer* at = pointer(object, field.offset);
  if (present(object, field) && at->get() != nullptr) return at->get();
  const schema::MessageType sub = type.sub(field);
  // A oneof's slot may hold another member's value; otherwise the sub-object was cleared and can be reused.
  bool reusable = field.case_offset == 0 && at->get() != nullptr;
  char* made = reusable ? at->get() : new_object(sub, arena);
  if (made == nullptr) return nullptr;
  if (reusable) message::clear(sub, reinterpret_cast<Message*>(made));
  mark_present(object, field);
  at->set(made);
  return made;
}

char* append_element(const schema::MessageType& type, char* object, const schema::FieldEntry& field, Arena* arena) {
  auto* repeated = reinterpret_cast<RepeatedBase*>(object + field.offset);
  const bool strings = schema::is_string_kind(field.kind), messages = schema::is_message_kind(field.kind);
  const auto elements = strings    ? RepeatedBase::Elements::kStrings
                        : messages ? RepeatedBase::Elements::kPointers
                                   : RepeatedBase::Elements::kScalars;
  const size_t stride = schema::kStorageOfKind[field.kind];
  const auto count = static_cast<uint32_t>(repeated->size());
  if (!repeated->reserve_in(arena, count + 1, stride, elements)) return nullptr;
  char* at = static_cast<char*>(repeated->raw_data()) + count * stride;
  if (strings) {
    reinterpret_cast<String*>(at)->clear();
  } else if (messages) {
    auto* element = reinterpret_cast<Pointer*>(at);
    const schema::MessageType sub = type.sub(field);
    at = element->get();  // a cleared element is kept for the next one
    if (at != nullptr) {
      message::clear(sub, reinterpret_cast<Message*>(at));
    } else {
      at = new_object(sub, arena);
      if (at == nullptr) return nullptr;
      element->set(at);
    }
  }
  repeated->set_raw_size(count + 1);
  return at;
}

void drop_last_element(char* object, const schema::FieldEntry& field) {
  Words* repeated = words(object, field.offset);
  // An array of class 0 knows its room by its size alone.
  if (repeated->storage_class() == 0) {
    repeated->meta |= static_cast<uint32_t>(std::bit_width(repeated->size)) << Words::kClassShift;
  }
  --repeated->size;
}

bool append_unknown(char* object, std::string_view wire, Arena* arena) {
  Pointer* unknown = pointer(object, offsetof(MessageHeader, unknown));
  auto* bytes = reinterpret_cast<Words*>(unknown->get());
  if (bytes == nullptr) {
    bytes = static_cast<Words*>(arena->allocate_zeroed(sizeof(Words)));
    if (bytes == nullptr) return false;
    unknown->set(bytes);
  }
  const size_t have = bytes->data == 0 || bytes->borrowed() ? 0 : bytes->string_storage();
  const size_t wanted = bytes->size + wire.size();
  if (wanted > String::kMaxSize) return false;
  if (wanted + 1 > have) {
    const uint32_t cls = std::max(5u, static_cast<uint32_t>(std::bit_width(wanted)));
    auto* block = static_cast<char*>(arena->allocate_recycled(size_t{1} << cls));
    if (block == nullptr) return false;
    if (bytes->size != 0) std::memcpy(block, bytes->begin(), bytes->size);
    if (have != 0) arena->recycle(bytes->begin(), have);
    bytes->set_begin(block);
    bytes->meta = cls << Words::kClassShift;
  }
  std::memcpy(bytes->begin() + bytes->size, wire.data(), wire.size());
  bytes->size = static_cast<uint32_t>(wanted);
  bytes->begin()[wanted] = '\0';
  return true;
}

}  // namespace drover::raw
