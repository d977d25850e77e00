// RepeatedPtrField<T>: a repeated field of Strings or messages; see object/repeated.h, which includes this.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "object/offset_ptr.h"
#include "object/repeated_base.h"
#include "object/string.h"

namespace drover {

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

// What gives elements when it is dereferenced; two string literals, say, do not.
template <typename Iterator, typename Element>
concept ElementIterator = requires(Iterator at) { requires std::is_constructible_v<Element, decltype(*at)>; };

// Where an iterator stands. One over Strings that can be changed also knows the array's owner word, which it notes in
// each String that it shows: after a copy of the message, no String knows it.
template <typename T, bool kConst>
struct PtrPosition {
  using Stored = std::conditional_t<kConst, const typename PtrElement<T>::Stored, typename PtrElement<T>::Stored>;
  PtrPosition() = default;
  PtrPosition(Stored* stored, const OwnerWord*) : at(stored) {}
  auto* get(ptrdiff_t n = 0) const { return PtrElement<T>::get(at + n); }
  Stored* at = nullptr;
};
template <>
struct PtrPosition<String, false> {
  PtrPosition() = default;
  PtrPosition(String* stored, const OwnerWord* word) : at(stored), owner(word) {}
  String* get(ptrdiff_t n = 0) const { return at[n].with_owner(owner); }
  String* at = nullptr;
  const OwnerWord* owner = nullptr;
};

template <typename T, bool kConst>
class RepeatedPtrIterator {
  using Position = PtrPosition<T, kConst>;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = ptrdiff_t;
  using reference = std::conditional_t<kConst, const T&, T&>;
  using pointer = std::conditional_t<kConst, const T*, T*>;

  RepeatedPtrIterator() = default;
  explicit RepeatedPtrIterator(Position position) : position_(position) {}
  operator RepeatedPtrIterator<T, true>() const {
    return RepeatedPtrIterator<T, true>(PtrPosition<T, true>(position_.at, nullptr));
  }

  reference operator*() const { return *position_.get(); }
  pointer operator->() const { return position_.get(); }
  reference operator[](difference_type n) const { return *position_.get(n); }
  RepeatedPtrIterator& operator++() { return ++position_.at, *this; }
  RepeatedPtrIterator& operator--() { return --position_.at, *this; }
  RepeatedPtrIterator operator++(int) {
    RepeatedPtrIterator old = *this;
    return ++*this, old;
  }
  RepeatedPtrIterator operator--(int) {
    RepeatedPtrIterator old = *this;
    return --*this, old;
  }
  RepeatedPtrIterator& operator+=(difference_type n) { return position_.at += n, *this; }
  RepeatedPtrIterator& operator-=(difference_type n) { return position_.at -= n, *this; }
  friend RepeatedPtrIterator operator+(RepeatedPtrIterator i, difference_type n) { return i += n; }
  friend RepeatedPtrIterator operator+(difference_type n, RepeatedPtrIterator i) { return i += n; }
  friend RepeatedPtrIterator operator-(RepeatedPtrIterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(RepeatedPtrIterator a, RepeatedPtrIterator b) {
    return a.position_.at - b.position_.at;
  }
  friend bool operator==(RepeatedPtrIterator a, RepeatedPtrIterator b) { return a.position_.at == b.position_.at; }
  friend auto operator<=>(RepeatedPtrIterator a, RepeatedPtrIterator b) { return a.position_.at <=> b.position_.at; }

 private:
  Position position_;
};

// What an iterator over pointers to messages shows: can be assigned, so that sorting moves no message.
template <typename T>
class MessagePointer {
 public:
  explicit MessagePointer(OffsetPtr<T>* at) : at_(at) {}
  MessagePointer(const MessagePointer&) = default;
  operator T*() const { return at_->get(); }
  T& operator*() const { return *at_->get(); }
  T* operator->() const { return at_->get(); }
  const MessagePointer& operator=(T* target) const { return at_->set(target), *this; }
  MessagePointer& operator=(const MessagePointer& other) { return at_->set(other.at_->get()), *this; }
  friend void swap(MessagePointer a, MessagePointer b) {
    T* held = a;
    a.at_->set(b);
    b.at_->set(held);
  }

 private:
  OffsetPtr<T>* at_;
};

// Iterates over pointers to the elements.
template <typename T, bool kConst>
class RepeatedPtrOverPtrs {
  using Position = PtrPosition<T, kConst>;
  static constexpr bool kAssignable = !kConst && !std::is_same_v<T, String>;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::conditional_t<kConst, const T*, T*>;
  using difference_type = ptrdiff_t;
  using reference = std::conditional_t<kAssignable, MessagePointer<T>, value_type>;
  using pointer = const value_type*;

  RepeatedPtrOverPtrs() = default;
  explicit RepeatedPtrOverPtrs(Position position) : position_(position) {}
  operator RepeatedPtrOverPtrs<T, true>() const {
    return RepeatedPtrOverPtrs<T, true>(PtrPosition<T, true>(position_.at, nullptr));
  }

  reference operator*() const {
    if constexpr (kAssignable) {
      return reference(position_.at);
    } else {
      return position_.get();
    }
  }
  reference operator[](difference_type n) const { return *(*this + n); }
  RepeatedPtrOverPtrs& operator++() { return ++position_.at, *this; }
  RepeatedPtrOverPtrs& operator--() { return --position_.at, *this; }
  RepeatedPtrOverPtrs operator++(int) {
    RepeatedPtrOverPtrs old = *this;
    return ++*this, old;
  }
  RepeatedPtrOverPtrs operator--(int) {
    RepeatedPtrOverPtrs old = *this;
    return --*this, old;
  }
  RepeatedPtrOverPtrs& operator+=(difference_type n) { return position_.at += n, *this; }
  RepeatedPtrOverPtrs& operator-=(difference_type n) { return position_.at -= n, *this; }
  friend RepeatedPtrOverPtrs operator+(RepeatedPtrOverPtrs i, difference_type n) { return i += n; }
  friend RepeatedPtrOverPtrs operator+(difference_type n, RepeatedPtrOverPtrs i) { return i += n; }
  friend RepeatedPtrOverPtrs operator-(RepeatedPtrOverPtrs i, difference_type n) { return i -= n; }
  friend difference_type operator-(RepeatedPtrOverPtrs a, RepeatedPtrOverPtrs b) {
    return a.position_.at - b.position_.at;
  }
  friend bool operator==(RepeatedPtrOverPtrs a, RepeatedPtrOverPtrs b) { return a.position_.at == b.position_.at; }
  friend auto operator<=>(RepeatedPtrOverPtrs a, RepeatedPtrOverPtrs b) { return a.position_.at <=> b.position_.at; }

 private:
  Position position_;
};

template <typename T>
class RepeatedPtrField : public RepeatedBase {
  using Stored = typename PtrElement<T>::Stored;
  static constexpr bool kIsString = std::is_same_v<T, String>;
  static constexpr Elements kElements = kIsString ? Elements::kStrings : Elements::kPointers;
  // The form of an element on the heap: a message, or a std::string for a String.
  using Heap = std::conditional_t<kIsString, std::string, T>;

 public:
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = RepeatedPtrIterator<T, false>;
  using const_iterator = RepeatedPtrIterator<T, true>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using pointer_iterator = RepeatedPtrOverPtrs<T, false>;
  using const_pointer_iterator = RepeatedPtrOverPtrs<T, true>;
  using size_type = int;
  using difference_type = ptrdiff_t;

  // As a variable, it owns its memory (RepeatedBase::kStandalone).
  RepeatedPtrField() = default;
  RepeatedPtrField(const RepeatedPtrField& other) : RepeatedBase() { MergeFrom(other); }
  RepeatedPtrField(RepeatedPtrField&& other) noexcept {
    if (!take_standalone(&other)) MergeFrom(other);
  }
  template <ElementIterator<Heap> Iterator>
  RepeatedPtrField(Iterator first, Iterator last) {
    Add(first, last);
  }

  // ---- reading
  const T& Get(int i) const { return *PtrElement<T>::get(stored() + i); }
  // Ends the process if there is no such element, as protobuf's does.
  const T& at(int i) const { return check_index(i), Get(i); }
  T& at(int i) { return check_index(i), *Mutable(i); }
  const T& operator[](int i) const { return Get(i); }
  T& operator[](int i) { return *Mutable(i); }
  T* Mutable(int i) {
    T* element = PtrElement<T>::get(stored() + i);
    if constexpr (kIsString) element->with_owner(array_owner());
    return element;
  }
  const_iterator begin() const { return const_iterator(position(0)); }
  const_iterator end() const { return const_iterator(position(size_)); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  iterator begin() { return iterator(position(0)); }
  iterator end() { return iterator(position(size_)); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  pointer_iterator pointer_begin() { return pointer_iterator(position(0)); }
  pointer_iterator pointer_end() { return pointer_iterator(position(size_)); }
  const_pointer_iterator pointer_begin() const { return const_pointer_iterator(position(0)); }
  const_pointer_iterator pointer_end() const { return const_pointer_iterator(position(size_)); }
  size_t SpaceUsedExcludingSelfLong() const { return capacity() * sizeof(Stored); }  // the array alone
  int SpaceUsedExcludingSelf() const { return static_cast<int>(SpaceUsedExcludingSelfLong()); }

  // ---- adding
  T* Add() { return add_in(arena()); }
  template <typename U>
    requires(kIsString && std::is_convertible_v<const U&, std::string_view>)
  void Add(const U& value) {
    std::string_view bytes(value);  // before the array may move: the value may be an element of it
    Arena* memory = arena();
    add_in(memory)->assign_in(memory, bytes);
  }
  void Add(T&& value)
    requires(!kIsString)
  {
    *Add() = std::move(value);
  }
  template <ElementIterator<Heap> Iterator>
  void Add(Iterator first, Iterator last) {
    for (; first != last; ++first) *Add() = *first;
  }
  template <ElementIterator<Heap> Iterator>
  void Assign(Iterator first, Iterator last) {
    Clear();
    Add(first, last);
  }
  void MergeFrom(const RepeatedPtrField& other) {
    int count = other.size();
    if (count == 0) return;
    if (other.size_ > kMaxElements - size_) fatal("a repeated field grows past 2^31 - 1 elements");
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
  RepeatedPtrField& operator=(const RepeatedPtrField& other) {
    CopyFrom(other);
    return *this;
  }
  // Between variables the contents trade places.
  RepeatedPtrField& operator=(RepeatedPtrField&& other) noexcept {
    if (!stands_alone() || !other.stands_alone()) return *this = std::as_const(other);
    swap_words(&other);
    return *this;
  }
  void Reserve(int n) {
    if (!reserve_in(arena(), static_cast<uint32_t>(n), sizeof(Stored), kElements)) fatal("out of memory");
  }

  // ---- removing; what is removed is kept for the next Add
  void Clear() { shrink(0); }
  void RemoveLast() { shrink(size_ - 1); }
  void DeleteSubrange(int start, int count) {
    if (count <= 0) return;
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
  // Swaps in place within one arena and between variables; copies otherwise.
  void Swap(RepeatedPtrField* other);
  void UnsafeArenaSwap(RepeatedPtrField* other) { Swap(other); }
  void InternalSwap(RepeatedPtrField* other) { swap_words(other); }
  friend void swap(RepeatedPtrField& a, RepeatedPtrField& b) { a.Swap(&b); }

  // ---- with objects of the caller's. An element lives in its message's arena. Taking an object over moves or copies
  // it there, and deletes it if it was on the heap; releasing returns a copy on the heap, which the caller owns.
  void AddAllocated(Heap* value) {
    if constexpr (kIsString) {
      Add(*value);
      delete value;
    } else {
      Arena* theirs = value->GetArena();
      *Add() = std::move(*value);
      if (theirs == nullptr) delete value;
    }
  }
  [[nodiscard]] Heap* ReleaseLast() {
    Heap* released = copy_of(size() - 1);
    RemoveLast();
    return released;
  }
  void ExtractSubrange(int start, int count, Heap** elements) {
    for (int i = 0; i < count && elements != nullptr; ++i) elements[i] = copy_of(start + i);
    DeleteSubrange(start, count);
  }
  void UnsafeArenaAddAllocated(Heap* value) { AddAllocated(value); }
  // The same, but a message from a field in an arena is copied there and is the arena's.
  Heap* UnsafeArenaReleaseLast() {
    Heap* released = nullptr;
    UnsafeArenaExtractSubrange(size() - 1, 1, &released);
    return released;
  }
  void UnsafeArenaExtractSubrange(int start, int count, Heap** elements) {
    for (int i = 0; i < count && elements != nullptr; ++i) elements[i] = copy_of(start + i, GetArena());
    DeleteSubrange(start, count);
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
  Heap* copy_of(int i, Arena* in = nullptr) const {
    if constexpr (kIsString) {
      return new std::string(Get(i).view());
    } else {
      T* copy = Arena::CreateMessage<T>(in);
      if (copy == nullptr) fatal("out of memory for a message");
      *copy = Get(i);
      return copy;
    }
  }
  PtrPosition<T, false> position(uint32_t i) {
    return {stored() + i, kIsString && data_ != 0 ? array_owner() : nullptr};
  }
  PtrPosition<T, true> position(uint32_t i) const { return {stored() + i, nullptr}; }
  void shrink(uint32_t n) {
    uint32_t cls = (meta_ & kClassMask) >> kClassShift;
    if (cls == 0 && size_ != 0) meta_ |= static_cast<uint32_t>(std::bit_width(size_)) << kClassShift;
    size_ = n;
  }
};

template <typename T>
void RepeatedPtrField<T>::Swap(RepeatedPtrField* other) {
  if (this == other) return;
  if (stands_alone() && other->stands_alone()) return swap_words(other);
  if (arena() == other->arena()) return swap_words(other);
  Arena scratch;
  RepeatedPtrField held;
  for (int i = 0; i < size(); ++i) {
    if constexpr (kIsString) {
      held.add_in(&scratch)->assign_in(&scratch, Get(i).view());
    } else {
      held.add_in(&scratch)->CopyFrom(Get(i));
    }
  }
  CopyFrom(*other);
  other->CopyFrom(held);
}

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

}  // namespace drover
