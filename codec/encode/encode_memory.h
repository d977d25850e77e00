// How the encoder reads an object: TrustedMemory trusts it, BoundedMemory checks everything, and
// codec/freestanding/fetched_memory.h reads an object in another machine's memory. All offer the same functions, so
// that one encoder serves all of them and reads objects in no other way. kDirect: the bytes of a LoadedRange can be
// read in place; otherwise the policy has copy(). Freestanding.
//
// BoundedMemory loads each word once, with a volatile access (the other process may write at any time), checks it, and
// uses the local copy from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/encode/encode_types.h"
#include "object/words.h"

namespace drover {

// A loaded String or Repeated: where its bytes begin, and how many there are.
struct LoadedRange {
  const char* data;
  uint32_t size;
};

class TrustedMemory {
 public:
  static constexpr bool kTrusted = true;
  static constexpr bool kDirect = true;

  template <typename T>
  T load(const char* at) const {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
  const char* load_pointer(const char* at, size_t, EncodeError*) const {
    int64_t offset = load<int64_t>(at);
    return offset == 0 ? nullptr : at + offset;
  }
  bool load_range(const char* at, uint32_t, uint32_t, LoadedRange* range, EncodeError*) const {
    range->size = load<uint32_t>(at + offsetof(raw::Words, size));
    range->data = at + load<int64_t>(at);
    return true;
  }
};

class BoundedMemory {
 public:
  static constexpr bool kTrusted = false;
  static constexpr bool kDirect = true;
  explicit BoundedMemory(const Bounds& bounds) : base_(reinterpret_cast<uintptr_t>(bounds.base)), size_(bounds.size) {}

  // `at` lies in memory that was checked already, and is aligned to T.
  template <typename T>
  T load(const char* at) const {
    return *reinterpret_cast<const volatile T*>(at);
  }

  // An OffsetPtr's target of `size` bytes; null if the OffsetPtr is, or with *error set if it leaves the bounds.
  const char* load_pointer(const char* at, size_t size, EncodeError* error) const {
    int64_t offset = load<int64_t>(at);
    if (offset == 0) return nullptr;
    uintptr_t target = reinterpret_cast<uintptr_t>(at) + static_cast<uint64_t>(offset);
    return check(target, size, 8, error) ? reinterpret_cast<const char*>(target) : nullptr;
  }

  // A String or Repeated of elements of `element_size` bytes.
  bool load_range(const char* at, uint32_t element_size, uint32_t alignment, LoadedRange* range,
                  EncodeError* error) const {
    range->size = load<uint32_t>(at + offsetof(raw::Words, size));
    if (range->size == 0) {
      range->data = nullptr;
      return true;
    }
    uintptr_t target = reinterpret_cast<uintptr_t>(at) + static_cast<uint64_t>(load<int64_t>(at));
    if (!check(target, uint64_t{range->size} * element_size, alignment, error)) return false;
    range->data = reinterpret_cast<const char*>(target);
    return true;
  }

  bool check(uintptr_t target, uint64_t size, uint32_t alignment, EncodeError* error) const {
    uintptr_t at = target - base_;
    if (at >= size_ || size > size_ - at) {
      *error = EncodeError::kOutOfBounds;
      return false;
    }
    if ((target & (alignment - 1)) != 0) {
      *error = EncodeError::kMisaligned;
      return false;
    }
    return true;
  }

 private:
  uintptr_t base_;
  size_t size_;
};

}  // namespace drover
