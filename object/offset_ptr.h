// OffsetPtr: a 64-bit pointer relative to its own address (docs/formats.md, section 2).
//
// An object that uses only OffsetPtrs is valid wherever its memory is mapped, in any process and on any ISA.
// 0 is null. An OffsetPtr must not be copied as bytes to another address unless its target moves along; copy-assignment
// re-bases it. Not thread-safe, as a plain pointer is not.
#pragma once

#include <cstdint>
#include <type_traits>

namespace drover {

template <typename T>
class OffsetPtr {
 public:
  OffsetPtr() = default;
  OffsetPtr(const OffsetPtr& other) { set(other.get()); }
  OffsetPtr& operator=(const OffsetPtr& other) {
    set(other.get());
    return *this;
  }

  T* get() const {
    return offset_ == 0 ? nullptr
                        : reinterpret_cast<T*>(reinterpret_cast<intptr_t>(this) + static_cast<intptr_t>(offset_));
  }
  void set(const T* target) {
    offset_ = target == nullptr ? 0 : reinterpret_cast<intptr_t>(target) - reinterpret_cast<intptr_t>(this);
  }

  // The stored distance in bytes, for readers that check it before use.
  int64_t offset() const { return offset_; }
  // The object that holds this pointer has moved by `delta` bytes, its target has not.
  void rebase(int64_t delta) {
    if (offset_ != 0) offset_ -= delta;
  }

  explicit operator bool() const { return offset_ != 0; }
  T* operator->() const { return get(); }
  decltype(auto) operator*() const
    requires(!std::is_void_v<T>)
  {
    return *get();
  }

 private:
  int64_t offset_ = 0;
};

static_assert(sizeof(OffsetPtr<int>) == 8);

}  // namespace drover
