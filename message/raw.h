// The raw words of String, Repeated and Map (docs/formats.md, section 2), for code that is driven by a schema image
// and works on any object: the codec and message/operations. Trusted objects only; codec/encode_memory.h reads
// objects that are not.
#pragma once

#include <cstdint>
#include <cstring>

#include "object/map.h"
#include "object/repeated.h"
#include "object/string.h"
#include "schema/message_type.h"

namespace drover::raw {

struct Words {  // of a String or a Repeated
  int64_t data;
  uint32_t size;
  uint32_t meta;

  char* begin() { return data == 0 ? nullptr : reinterpret_cast<char*>(this) + data; }
  const char* begin() const { return data == 0 ? nullptr : reinterpret_cast<const char*>(this) + data; }
  void set_begin(const void* to) { data = static_cast<const char*>(to) - reinterpret_cast<const char*>(this); }
  uint32_t storage_class() const { return (meta & kClassMask) >> kClassShift; }
  // Of a Repeated: elements that its storage has room for.
  uint32_t capacity() const { return storage_class() == 0 ? size : 1u << (storage_class() - 1); }
  // Of a String with bytes of its own: bytes of its storage, the NUL's included.
  size_t string_storage() const { return storage_class() == 0 ? size_t{size} + 1 : size_t{1} << storage_class(); }
  bool borrowed() const { return (meta & String::kBorrowed) != 0; }

  static constexpr uint32_t kClassShift = String::kClassShift, kClassMask = String::kClassMask;
};
static_assert(sizeof(Words) == sizeof(String) && sizeof(Words) == sizeof(RepeatedBase));
static_assert(String::kClassShift == RepeatedBase::kClassShift && String::kClassMask == RepeatedBase::kClassMask);

struct Pointer {
  int64_t offset;
  char* get() { return offset == 0 ? nullptr : reinterpret_cast<char*>(this) + offset; }
  const char* get() const { return offset == 0 ? nullptr : reinterpret_cast<const char*>(this) + offset; }
  void set(const void* to) { offset = static_cast<const char*>(to) - reinterpret_cast<const char*>(this); }
};

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

// Whether a singular field is there: by its has-bit, its oneof's case, its pointer, or its value, whichever it has.
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
