// The leading words of the objects' variable parts (docs/formats.md, section 2), for code that works on any object by
// its schema image, and for String and Repeated, which give them an interface.
//
//   Pointer:  offset                          to a message, or to the String of the unknown bytes
//   Words:    data | size | meta              of a String, a Repeated, and the front of a Map
//             meta: borrowed, unterminated, class, back
//
// Trusted objects only; codec/encode/encode_memory.h reads those that are not. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "object/object_format.h"

namespace drover::raw {

struct Words : object_format::Words {
  char* begin() { return data == 0 ? nullptr : reinterpret_cast<char*>(this) + data; }
  const char* begin() const { return data == 0 ? nullptr : reinterpret_cast<const char*>(this) + data; }
  void set_begin(const void* to) { data = static_cast<const char*>(to) - reinterpret_cast<const char*>(this); }
  uint32_t storage_class() const { return (meta & kClassMask) >> kClassShift; }
  // Of a Repeated: elements that its storage has room for.
  uint32_t capacity() const { return storage_class() == 0 ? size : 1u << (storage_class() - 1); }
  // Of a String with bytes of its own: bytes of its storage, the NUL's included.
  size_t string_storage() const { return storage_class() == 0 ? size_t{size} + 1 : size_t{1} << storage_class(); }
  bool borrowed() const { return (meta & kBorrowed) != 0; }

  static constexpr uint32_t kBorrowed = object_format::Meta::kBorrowedMask;
  static constexpr uint32_t kUnterminated = object_format::Meta::kUnterminatedMask;
  static constexpr uint32_t kClassShift = object_format::Meta::kStorageClassShift;
  static constexpr uint32_t kClassMask = object_format::Meta::kStorageClassMask;
  static constexpr uint32_t kStandalone = object_format::Meta::kStandaloneMask;
  static constexpr uint32_t kBackShift = object_format::Meta::kBackShift;
  static constexpr uint32_t kMaxString = object_format::kMaxStringSize;
};
static_assert(sizeof(Words) == sizeof(object_format::Words));

struct Pointer : object_format::Pointer {
  char* get() { return offset == 0 ? nullptr : reinterpret_cast<char*>(this) + offset; }
  const char* get() const { return offset == 0 ? nullptr : reinterpret_cast<const char*>(this) + offset; }
  void set(const void* to) { offset = static_cast<const char*>(to) - reinterpret_cast<const char*>(this); }
};
static_assert(sizeof(Pointer) == sizeof(object_format::Pointer));

}  // namespace drover::raw
