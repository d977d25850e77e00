// RepeatedBase: what all repeated fields share (object/repeated.h describes the layout). Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "object/owner.h"
#include "object/words.h"

namespace drover {

// What all repeated fields share; untyped, so that the codec can work on any of them.
class RepeatedBase {
 public:
  RepeatedBase() = default;
#if __STDC_HOSTED__
  // Only a field that stands alone needs this: generated classes and arenas never run it for one that is a part.
  ~RepeatedBase() {
    if ((meta_ & kStandalone) != 0) [[unlikely]]
      free_standalone();
  }
#endif
  RepeatedBase(const RepeatedBase&) = delete;
  RepeatedBase& operator=(const RepeatedBase&) = delete;

  int size() const { return static_cast<int>(size_); }
  bool empty() const { return size_ == 0; }
  int Capacity() const { return static_cast<int>(capacity()); }

  uint32_t capacity() const {
    uint32_t cls = (meta_ & kClassMask) >> kClassShift;
    return cls == 0 ? size_ : 1u << (cls - 1);
  }
  void* raw_data() { return data_ == 0 ? nullptr : reinterpret_cast<char*>(this) + data_; }
  const void* raw_data() const { return data_ == 0 ? nullptr : reinterpret_cast<const char*>(this) + data_; }
  int64_t data_offset() const { return data_; }
  uint32_t meta() const { return meta_; }
  // For code that has just filled elements in reserved room (the decoder); size <= capacity().
  void set_raw_size(uint32_t size) { size_ = size; }

  // Room for `wanted` elements of `element_size` bytes in `arena`; elements are moved as bytes, new ones are zero.
  // kStrings and kPointers re-base what is relative; false: out of memory, nothing changed.
  enum class Elements { kScalars, kStrings, kPointers };
  bool reserve_in(Arena* arena, uint32_t wanted, size_t element_size, Elements elements) {
    return wanted <= capacity() || grow(arena, wanted, element_size, elements);
  }

  void note_owner(const OwnerWord* owner) {
    uintptr_t distance = (reinterpret_cast<uintptr_t>(this) - reinterpret_cast<uintptr_t>(owner)) / 8;
    meta_ = (meta_ & ((1u << kBackShift) - 1)) | static_cast<uint32_t>(distance) << kBackShift;
  }
  Arena* arena() {
    uint32_t back = meta_ >> kBackShift;
    if (back == 0) return standalone_arena();
    return arena_of(reinterpret_cast<OwnerWord*>(reinterpret_cast<char*>(this) - size_t{back} * 8));
  }
  uint32_t size_word() const { return size_; }
  // A variable: it owns its memory, or has none yet. (A field that is changed knows where its owner word is.)
  bool stands_alone() const { return (meta_ >> kBackShift) == 0 && (data_ == 0 || (meta_ & kStandalone) != 0); }
  // Trades the elements with a field of the same kind in the same arena, or with a variable if both are variables; each
  // keeps where its owner word is.
  void swap_words(RepeatedBase* other) {
    int64_t delta = reinterpret_cast<char*>(other) - reinterpret_cast<char*>(this);
    constexpr uint32_t kBelowBack = (1u << kBackShift) - 1;
    uint32_t meta = meta_;
    std::swap(data_, other->data_);
    std::swap(size_, other->size_);
    rebase(-delta);
    other->rebase(delta);
    meta_ = (other->meta_ & kBelowBack) | (meta_ & ~kBelowBack);
    other->meta_ = (meta & kBelowBack) | (other->meta_ & ~kBelowBack);
  }
  // The arena of a field that was reached through a mutating accessor; null if its message owns its arena.
  Arena* GetArena() {
    uint32_t back = meta_ >> kBackShift;
    if (back == 0) return nullptr;
    return users_arena(*reinterpret_cast<OwnerWord*>(reinterpret_cast<char*>(this) - size_t{back} * 8));
  }
  // This field was moved here (as bytes) from an address `delta` lower.
  void rebase(int64_t delta) {
    if (data_ != 0) data_ -= delta;
  }

  static constexpr uint32_t kClassShift = raw::Words::kClassShift, kClassMask = raw::Words::kClassMask,
                            kBackShift = raw::Words::kBackShift;
  static constexpr uint32_t kMaxElements = 0x7fffffff;
  // Not a part of a message, but a variable: it owns an arena, whose address lies in front of the elements.
  static constexpr uint32_t kStandalone = raw::Words::kStandalone;

 protected:
  friend class MapBase;
  void check_index(int i) const {
    if (i < 0 || static_cast<uint32_t>(i) >= size_) fatal("a repeated field has no element of that index");
  }
#if __STDC_HOSTED__
  // Makes the arena at the first call (object/standalone.cc).
  Arena* standalone_arena();
  void free_standalone();
  // Takes over what `other` holds, if that stands alone and this field is new.
  bool take_standalone(RepeatedBase* other);
#else
  Arena* standalone_arena() { fatal("a repeated field is changed that was not reached through a mutating accessor"); }
#endif
  bool grow(Arena* arena, uint32_t wanted, size_t element_size, Elements elements);

  int64_t data_ = 0;
  uint32_t size_ = 0;
  uint32_t meta_ = 0;
};
static_assert(sizeof(RepeatedBase) == sizeof(raw::Words));

}  // namespace drover
