// RepeatedField<T> (scalars, enums) and RepeatedPtrField<T> (String or messages): the repeated fields of an object
// (docs/formats.md, section 2), with protobuf C++'s interface.
//
//   data (self-relative) | size | meta: class, back
//     scalars    data -> T[capacity]
//     String     data -> [owner word] String[capacity]      (data points at the first String)
//     messages   data -> OffsetPtr<T>[capacity]             (a message never moves while its arena lives)
//
// A variable of these types owns its memory (object/standalone.cc). A copy of a field is such a variable.
//
// Reading is const and needs nothing; writing goes through the owning message's mutable_x(), which notes in
// `back` where the owner word is. Cleared messages and strings are kept and used again by Add. A message stays where
// it is while the field grows; a String moves, so a pointer to one lasts until the next Add (a reference to an element
// that is only read, as in `*x.Add() = x.Get(0)`, goes on showing the old element).
// Thread-safety: as std::vector.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "object/offset_ptr.h"
#include "object/repeated_base.h"
#include "object/repeated_ptr.h"  // RepeatedPtrField
#include "object/string.h"

namespace drover {

template <typename T>
class RepeatedField : public RepeatedBase {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using size_type = int;
  using difference_type = ptrdiff_t;

  // As a variable, it owns its memory (RepeatedBase::kStandalone).
  RepeatedField() = default;
  RepeatedField(const RepeatedField& other) : RepeatedBase() { MergeFrom(other); }
  RepeatedField(RepeatedField&& other) noexcept {
    if (!take_standalone(&other)) MergeFrom(other);
  }
  template <typename Iterator>
    requires(!std::is_arithmetic_v<Iterator>)
  RepeatedField(Iterator first, Iterator last) {
    Add(first, last);
  }

  const T* data() const { return static_cast<const T*>(raw_data()); }
  T* mutable_data() { return static_cast<T*>(raw_data()); }
  const T& Get(int i) const { return data()[i]; }
  // Ends the process if there is no such element, as protobuf's does.
  const T& at(int i) const { return check_index(i), data()[i]; }
  T& at(int i) { return check_index(i), mutable_data()[i]; }
  const T& operator[](int i) const { return data()[i]; }
  T& operator[](int i) { return mutable_data()[i]; }
  T* Mutable(int i) { return mutable_data() + i; }
  void Set(int i, T value) { mutable_data()[i] = value; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  const T* cbegin() const { return begin(); }
  const T* cend() const { return end(); }
  T* begin() { return mutable_data(); }
  T* end() { return mutable_data() + size_; }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }

  void Add(T value) { add_in(arena(), value); }
  T* Add() { return add_in(arena(), T()); }
  template <typename Iterator>
    requires(!std::is_same_v<Iterator, T>)
  void Add(Iterator first, Iterator last) {
    for (; first != last; ++first) Add(static_cast<T>(*first));
  }
  void Reserve(int n) {
    if (!reserve_in(arena(), static_cast<uint32_t>(n), sizeof(T), Elements::kScalars)) fatal("out of memory");
  }
  void Resize(int n, T value) {
    if (n > size()) {
      Reserve(n);
      std::fill(mutable_data() + size_, mutable_data() + n, value);
    }
    size_ = static_cast<uint32_t>(n);
  }
  void AddAlreadyReserved(T value) { *AddNAlreadyReserved(1) = value; }
  T* AddAlreadyReserved() { return AddNAlreadyReserved(1); }
  T* AddNAlreadyReserved(int n) {
    if (static_cast<uint32_t>(n) > capacity() - size_) fatal("a repeated field has no such room reserved");
    size_ += static_cast<uint32_t>(n);
    return mutable_data() + size_ - n;
  }
  // Moves elements [start, start + n) to `elements`, unless that is null.
  void ExtractSubrange(int start, int n, T* elements) {
    if (elements != nullptr) std::copy_n(data() + start, n, elements);
    if (n > 0) erase(cbegin() + start, cbegin() + start + n);
  }
  void Truncate(int n) { shrink(static_cast<uint32_t>(n)); }
  void RemoveLast() { shrink(size_ - 1); }
  void Clear() { shrink(0); }
  void SwapElements(int a, int b) { std::swap(mutable_data()[a], mutable_data()[b]); }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    auto index = first - data();
    std::copy(last, cend(), mutable_data() + index);
    shrink(size_ - static_cast<uint32_t>(last - first));
    return mutable_data() + index;
  }
  void CopyFrom(const RepeatedField& other) {
    if (this == &other) return;
    Clear();
    MergeFrom(other);
  }
  void MergeFrom(const RepeatedField& other) {
    if (other.empty()) return;
    uint32_t old = size_, added = other.size_;
    if (added > kMaxElements - old) fatal("a repeated field grows past 2^31 - 1 elements");
    Reserve(static_cast<int>(old + added));
    std::memcpy(mutable_data() + old, other.data(), added * sizeof(T));
    size_ = old + added;
  }
  template <typename Iterator>
  void Assign(Iterator first, Iterator last) {
    Clear();
    Add(first, last);
  }
  RepeatedField& operator=(const RepeatedField& other) {
    CopyFrom(other);
    return *this;
  }
  // Between variables the contents trade places.
  RepeatedField& operator=(RepeatedField&& other) noexcept {
    if (!stands_alone() || !other.stands_alone()) return *this = std::as_const(other);
    swap_words(&other);
    return *this;
  }
  // Fields of one arena, and variables, trade their elements; others are copied.
  void Swap(RepeatedField* other);
  void UnsafeArenaSwap(RepeatedField* other) { Swap(other); }
  void InternalSwap(RepeatedField* other) { swap_words(other); }
  friend void swap(RepeatedField& a, RepeatedField& b) { a.Swap(&b); }
  size_t SpaceUsedExcludingSelfLong() const { return capacity() * sizeof(T); }
  int SpaceUsedExcludingSelf() const { return static_cast<int>(SpaceUsedExcludingSelfLong()); }

  T* add_in(Arena* arena, T value) {
    if (!reserve_in(arena, size_ + 1, sizeof(T), Elements::kScalars)) fatal("out of memory for a repeated field");
    T* slot = mutable_data() + size_++;
    *slot = value;
    return slot;
  }

 private:
  void shrink(uint32_t n) {
    uint32_t cls = (meta_ & kClassMask) >> kClassShift;
    if (cls == 0 && size_ != 0) meta_ |= static_cast<uint32_t>(std::bit_width(size_)) << kClassShift;
    size_ = n;
  }
};

template <typename T>
void RepeatedField<T>::Swap(RepeatedField* other) {
  if (this == other) return;
  if (stands_alone() && other->stands_alone()) return swap_words(other);
  if (arena() == other->arena()) return swap_words(other);
  Arena scratch;
  OwnerWord owner = reinterpret_cast<OwnerWord>(&scratch);
  RepeatedField copy;
  for (T value : *this) copy.add_in(reinterpret_cast<Arena*>(owner), value);
  CopyFrom(*other);
  other->Clear();
  for (T value : copy) other->Add(value);
}

}  // namespace drover
