// RepeatedField<T> (scalars, enums) and RepeatedPtrField<T> (String or messages): the repeated fields of an object
// (docs/formats.md, section 2), with protobuf C++'s interface.
//
//   data (self-relative) | size | meta: class, back
//     scalars    data -> T[capacity]
//     String     data -> [owner word] String[capacity]      (data points at the first String)
//     messages   data -> OffsetPtr<T>[capacity]             (a message never moves while its arena lives)
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
  using size_type = int;
  using difference_type = ptrdiff_t;

  const T* data() const { return static_cast<const T*>(raw_data()); }
  T* mutable_data() { return static_cast<T*>(raw_data()); }
  const T& Get(int i) const { return data()[i]; }
  const T& at(int i) const { return data()[i]; }
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
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }

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
  void Swap(RepeatedField* other);

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

// ---- strings and messages

template <typename T>
class RepeatedPtrField;

// Element access for RepeatedPtrField: Strings lie in the array, messages behind pointers.
template <typename T>
struct PtrElement {
  using Stored = OffsetPtr<T>;
  static T* get(Stored* stored) { return stored->get(); }
  static const T* get(const Stored* stored) { return stored->get(); }
};
template <>
struct PtrElement<String> {
  using Stored = String;
  static String* get(String* stored) { return stored; }
  static const String* get(const String* stored) { return stored; }
};

template <typename T, bool kConst>
class RepeatedPtrIterator {
  using Stored = std::conditional_t<kConst, const typename PtrElement<T>::Stored, typename PtrElement<T>::Stored>;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = ptrdiff_t;
  using reference = std::conditional_t<kConst, const T&, T&>;
  using pointer = std::conditional_t<kConst, const T*, T*>;

  RepeatedPtrIterator() = default;
  explicit RepeatedPtrIterator(Stored* at) : at_(at) {}
  operator RepeatedPtrIterator<T, true>() const { return RepeatedPtrIterator<T, true>(at_); }

  reference operator*() const { return *PtrElement<T>::get(at_); }
  pointer operator->() const { return PtrElement<T>::get(at_); }
  reference operator[](difference_type n) const { return *PtrElement<T>::get(at_ + n); }
  RepeatedPtrIterator& operator++() { return ++at_, *this; }
  RepeatedPtrIterator& operator--() { return --at_, *this; }
  RepeatedPtrIterator operator++(int) { return RepeatedPtrIterator(at_++); }
  RepeatedPtrIterator operator--(int) { return RepeatedPtrIterator(at_--); }
  RepeatedPtrIterator& operator+=(difference_type n) { return at_ += n, *this; }
  RepeatedPtrIterator& operator-=(difference_type n) { return at_ -= n, *this; }
  friend RepeatedPtrIterator operator+(RepeatedPtrIterator i, difference_type n) { return i += n; }
  friend RepeatedPtrIterator operator+(difference_type n, RepeatedPtrIterator i) { return i += n; }
  friend RepeatedPtrIterator operator-(RepeatedPtrIterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(RepeatedPtrIterator a, RepeatedPtrIterator b) { return a.at_ - b.at_; }
  friend bool operator==(RepeatedPtrIterator a, RepeatedPtrIterator b) { return a.at_ == b.at_; }
  friend auto operator<=>(RepeatedPtrIterator a, RepeatedPtrIterator b) { return a.at_ <=> b.at_; }

 private:
  Stored* at_ = nullptr;
};

template <typename T>
class RepeatedPtrField : public RepeatedBase {
  using Stored = typename PtrElement<T>::Stored;
  static constexpr bool kIsString = std::is_same_v<T, String>;
  static constexpr Elements kElements = kIsString ? Elements::kStrings : Elements::kPointers;

 public:
  using value_type = T;
  using iterator = RepeatedPtrIterator<T, false>;
  using const_iterator = RepeatedPtrIterator<T, true>;
  using size_type = int;
  using difference_type = ptrdiff_t;

  const T& Get(int i) const { return *PtrElement<T>::get(stored() + i); }
  const T& at(int i) const { return Get(i); }
  const T& operator[](int i) const { return Get(i); }
  T& operator[](int i) { return *Mutable(i); }
  T* Mutable(int i) {
    T* element = PtrElement<T>::get(stored() + i);
    if constexpr (kIsString) element->with_owner(array_owner());
    return element;
  }
  const_iterator begin() const { return const_iterator(stored()); }
  const_iterator end() const { return const_iterator(stored() + size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  iterator begin() { return note_all(), iterator(stored()); }
  iterator end() { return iterator(stored() + size_); }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }

  T* Add() { return add_in(arena()); }
  template <typename U>
    requires(kIsString && std::is_convertible_v<const U&, std::string_view>)
  void Add(const U& value) {
    std::string_view bytes(value);  // before the array may move: the value may be an element of it
    Arena* memory = arena();
    add_in(memory)->assign_in(memory, bytes);
  }
  void Reserve(int n) {
    if (!reserve_in(arena(), static_cast<uint32_t>(n), sizeof(Stored), kElements)) fatal("out of memory");
  }
  void Clear() { shrink(0); }
  void RemoveLast() { shrink(size_ - 1); }
  void DeleteSubrange(int start, int count) {
    for (int i = start; i + count < size(); ++i) SwapElements(i, i + count);
    shrink(size_ - static_cast<uint32_t>(count));
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    auto index = first - std::as_const(*this).begin();
    DeleteSubrange(static_cast<int>(index), static_cast<int>(last - first));
    return begin() + index;
  }
  void SwapElements(int a, int b);
  void MergeFrom(const RepeatedPtrField& other) {
    int count = other.size();
    Reserve(size() + count);
    Arena* memory = arena();
    for (int i = 0; i < count; ++i) {
      if constexpr (kIsString) {
        add_in(memory)->assign_string(memory, other.Get(i));
      } else {
        add_in(memory)->MergeFrom(other.Get(i));
      }
    }
  }
  void CopyFrom(const RepeatedPtrField& other) {
    if (this == &other) return;
    Clear();
    MergeFrom(other);
  }
  template <typename Iterator>
  void Assign(Iterator first, Iterator last) {
    Clear();
    for (; first != last; ++first) *Add() = *first;
  }
  template <typename Iterator>
  void Add(Iterator first, Iterator last) {
    for (; first != last; ++first) *Add() = *first;
  }
  RepeatedPtrField& operator=(const RepeatedPtrField& other) {
    CopyFrom(other);
    return *this;
  }

  T* add_in(Arena* arena) {
    if (!reserve_in(arena, size_ + 1, sizeof(Stored), kElements)) fatal("out of memory for a repeated field");
    Stored* slot = stored() + size_++;
    if constexpr (kIsString) {
      slot->clear();
      return slot->with_owner(array_owner());
    } else {
      if (slot->get() == nullptr) {
        slot->set(arena->create<T>());
        if (slot->get() == nullptr) fatal("out of memory for a repeated message");
      } else {
        slot->get()->Clear();
      }
      return slot->get();
    }
  }

 private:
  Stored* stored() { return static_cast<Stored*>(raw_data()); }
  const Stored* stored() const { return static_cast<const Stored*>(raw_data()); }
  const OwnerWord* array_owner() const { return static_cast<const OwnerWord*>(raw_data()) - 1; }
  void note_all() {
    if constexpr (kIsString) {
      for (uint32_t i = 0; i < size_; ++i) stored()[i].with_owner(array_owner());
    }
  }
  void shrink(uint32_t n) {
    uint32_t cls = (meta_ & kClassMask) >> kClassShift;
    if (cls == 0 && size_ != 0) meta_ |= static_cast<uint32_t>(std::bit_width(size_)) << kClassShift;
    size_ = n;
  }
};

template <typename T>
void RepeatedPtrField<T>::SwapElements(int a, int b) {
  if (a == b) return;
  if constexpr (kIsString) {
    int64_t delta = reinterpret_cast<char*>(stored() + b) - reinterpret_cast<char*>(stored() + a);
    alignas(String) unsigned char bytes[sizeof(String)];
    auto* x = stored() + a;
    auto* y = stored() + b;
    std::memcpy(bytes, static_cast<void*>(x), sizeof(String));
    std::memcpy(static_cast<void*>(x), static_cast<void*>(y), sizeof(String));
    std::memcpy(static_cast<void*>(y), bytes, sizeof(String));
    x->rebase(-delta);
    y->rebase(delta);
    x->with_owner(array_owner());
    y->with_owner(array_owner());
  } else {
    T* first = stored()[a].get();
    stored()[a].set(stored()[b].get());
    stored()[b].set(first);
  }
}

template <typename T>
void RepeatedField<T>::Swap(RepeatedField* other) {
  if (this == other) return;
  alignas(8) unsigned char bytes[sizeof(RepeatedBase)];
  if (arena() == other->arena()) {
    int64_t delta = reinterpret_cast<char*>(other) - reinterpret_cast<char*>(this);
    uint32_t my_back = meta_ >> kBackShift, other_back = other->meta_ >> kBackShift;
    std::memcpy(bytes, static_cast<void*>(this), sizeof(bytes));
    std::memcpy(static_cast<void*>(this), static_cast<void*>(other), sizeof(bytes));
    std::memcpy(static_cast<void*>(other), bytes, sizeof(bytes));
    rebase(-delta);
    other->rebase(delta);
    meta_ = (meta_ & ((1u << kBackShift) - 1)) | my_back << kBackShift;
    other->meta_ = (other->meta_ & ((1u << kBackShift) - 1)) | other_back << kBackShift;
    return;
  }
  Arena scratch;
  OwnerWord owner = reinterpret_cast<OwnerWord>(&scratch);
  RepeatedField copy;
  for (T value : *this) copy.add_in(reinterpret_cast<Arena*>(owner), value);
  CopyFrom(*other);
  other->Clear();
  for (T value : copy) other->Add(value);
}

}  // namespace drover
