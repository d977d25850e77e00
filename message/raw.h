// Fields by their offsets in a schema image, for code that works on any object: the codec and message/operations.
// Trusted objects only; codec/encode/encode_memory.h reads objects that are not. Freestanding.
#pragma once

#include <cstdint>
#include <cstring>

#include "object/map_base.h"
#include "object/owner.h"
#include "object/words.h"
#include "schema/message_type.h"

namespace drover::raw {

inline Words* words(char* object, uint32_t offset) { return reinterpret_cast<Words*>(object + offset); }
inline const Words* words(const char* object, uint32_t offset) {
  return reinterpret_cast<const Words*>(object + offset);
}
inline Pointer* pointer(char* object, uint32_t offset) { return reinterpret_cast<Pointer*>(object + offset); }
inline const Pointer* pointer(const char* object, uint32_t offset) {
  return reinterpret_cast<const Pointer*>(object + offset);
}
template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void store(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// ---- presence
inline bool has_bit(const char* object, uint32_t bit) {
  return (load<uint32_t>(object + sizeof(MessageHeader) + bit / 32 * 4) >> (bit % 32) & 1) != 0;
}
inline void set_has_bit(char* object, uint32_t bit) {
  char* word = object + sizeof(MessageHeader) + bit / 32 * 4;
  store<uint32_t>(word, load<uint32_t>(word) | 1u << (bit % 32));
}
inline void clear_has_bit(char* object, uint32_t bit) {
  char* word = object + sizeof(MessageHeader) + bit / 32 * 4;
  store<uint32_t>(word, load<uint32_t>(word) & ~(1u << (bit % 32)));
}

// True if the stored bits of a scalar are not all zero.
inline bool scalar_nonzero(const char* at, uint32_t storage) {
  return storage == 8 ? load<uint64_t>(at) != 0 : storage == 4 ? load<uint32_t>(at) != 0 : *at != 0;
}

// Whether a singular field is set: by its has-bit, its oneof's case, its pointer, or its value, whichever applies.
inline bool present(const char* object, const schema::FieldEntry& field) {
  const char* at = object + field.offset;
  if (field.case_offset != 0) return load<uint32_t>(object + field.case_offset) == field.number;
  if (schema::is_message_kind(field.kind)) {
    return load<int64_t>(at) != 0 && (field.has_bit == schema::kNoHasBit || has_bit(object, field.has_bit));
  }
  if (field.has_bit != schema::kNoHasBit) return has_bit(object, field.has_bit);
  if (schema::is_string_kind(field.kind)) return words(object, field.offset)->size != 0;
  return scalar_nonzero(at, schema::kStorageOfKind[field.kind]);
}

// False for a member of a oneof whose slot another member holds.
inline bool holds_its_slot(const char* object, const schema::FieldEntry& field) {
  return field.case_offset == 0 || load<uint32_t>(object + field.case_offset) == field.number;
}

inline MapKeyKind map_key_kind(const schema::FieldEntry& key) {
  switch (schema::kStorageOfKind[key.kind]) {
    case 1:
      return MapKeyKind::k1Byte;
    case 4:
      return MapKeyKind::k4Bytes;
    case 8:
      return MapKeyKind::k8Bytes;
    default:
      return MapKeyKind::kString;
  }
}

}  // namespace drover::raw
