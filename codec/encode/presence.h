// What is present in an object, read through an encoder's Memory (codec/encode/encode_memory.h): has-bits, required
// fields, unknown ones. Used by Encoder and Preserializer. Freestanding.
#pragma once

#include "codec/compiler.h"
#include "codec/encode/encode_memory.h"
#include "object/owner.h"
#include "schema/image.h"

namespace drover::presence {

// The has-bits that a step can name, and above them those set that stand for "always" and "unless zero".
template <typename Memory>
DROVER_INLINE uint64_t first_has_bits(const Memory& memory, const char* object, const schema::MessageEntry& entry) {
  constexpr uint64_t kReal = (uint64_t{1} << schema::kStepHasBits) - 1;
  const char* words = object + sizeof(MessageHeader);
  uint64_t has = 0;
  if (entry.has_words != 0) has = memory.template load<uint32_t>(words);
  if (entry.has_words > 1) has |= uint64_t{memory.template load<uint32_t>(words + 4)} << 32;
  return (has & kReal) | ~kReal;
}

// A has-bit that the object's words are asked for.
template <typename Memory>
bool far_has_bit(const Memory& memory, const char* object, const schema::FieldEntry& field) {
  uint32_t word = memory.template load<uint32_t>(object + sizeof(MessageHeader) + field.has_bit / 32 * 4);
  return (word >> (field.has_bit % 32) & 1) != 0;
}

// The scalar or string at `at` is zero or empty. A hostile process may change it before it is read again.
template <typename Memory>
bool is_zero(const Memory& memory, const char* at, const schema::FieldEntry& field) {
  uint32_t storage = schema::kStorageOfKind[field.kind];
  return storage == 16  ? memory.template load<uint32_t>(at + offsetof(raw::Words, size)) == 0
         : storage == 8 ? memory.template load<uint64_t>(at) == 0
         : storage == 4 ? memory.template load<uint32_t>(at) == 0
                        : memory.template load<uint8_t>(at) == 0;
}

// The first required field of the object itself that is not there; null if all are. `has`: its first_has_bits.
template <typename Memory>
DROVER_NOINLINE const schema::FieldEntry* missing_required(const schema::Image& image, const Memory& memory,
                                                           const char* object, const schema::MessageEntry& entry,
                                                           uint64_t has) {
  for (const schema::FieldEntry& field : image.fields(entry)) {
    if ((field.flags & schema::kFieldFlagRequired) == 0) continue;
    bool there;
    if (field.has_bit == schema::kNoHasBit) {
      there = memory.template load<int64_t>(object + field.offset) != 0;  // a message
    } else if (field.has_bit < schema::kStepHasBits) {
      there = (has >> field.has_bit & 1) != 0;
    } else {
      there = far_has_bit(memory, object, field);
    }
    if (!there) return &field;
  }
  return nullptr;
}

// The bytes of the unknown fields; none: size 0. An error if they leave the bounds.
template <typename Memory>
EncodeError load_unknown(const Memory& memory, const char* object, LoadedRange* range) {
  EncodeError error = EncodeError::kOk;
  *range = {nullptr, 0};
  const char* string = memory.load_pointer(object + offsetof(MessageHeader, unknown), sizeof(raw::Words), &error);
  if (string != nullptr) memory.load_range(string, 1, 1, range, &error);
  return error;
}

}  // namespace drover::presence
