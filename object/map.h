// Map<K, V>: a map field of an object (docs/formats.md, section 2), with the interface of protobuf C++'s Map.
//
//   Repeated of OffsetPtr<entry> | index (OffsetPtr to a MapIndex, 0: scan)
//   entry: MessageHeader | key and value, the one of greater alignment first, the key first if equal
//
// An entry never moves while its arena lives. Up to kScanUpTo entries are searched by scanning; above that an
// open-addressing index with a per-process random seed is kept. Iteration order is insertion order (erase moves
// the last entry into the gap). Erasing costs the same whatever the size. Thread-safety: as std::map.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "object/map_base.h"
#include "object/repeated.h"

namespace drover {

// What an entry stores for a V: Strings and scalars in place, messages behind a pointer.
template <typename T>
inline constexpr bool kIsMapScalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <typename T>
using MapStored = std::conditional_t<kIsMapScalar<T> || std::is_same_v<T, String>, T, OffsetPtr<T>>;

template <typename K, typename V>
struct MapEntryLayout {
  static constexpr uint32_t kKeyAlign = alignof(MapStored<K>), kValueAlign = alignof(MapStored<V>);
  static constexpr bool kValueFirst = kValueAlign > kKeyAlign;
  static constexpr uint32_t kFirst = sizeof(MessageHeader);
  static constexpr uint32_t align(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }
  static constexpr uint32_t kKeyOffset = kValueFirst ? align(kFirst + sizeof(MapStored<V>), kKeyAlign) : kFirst;
  static constexpr uint32_t kValueOffset = kValueFirst ? kFirst : align(kFirst + sizeof(MapStored<K>), kValueAlign);
  static constexpr uint32_t kSize =
      align(kValueFirst ? kKeyOffset + sizeof(MapStored<K>) : kValueOffset + sizeof(MapStored<V>), 8);
};

// The value of an iterator: references into the map, under std::pair's names. `second` can be assigned if the map is
// mutable. Converts to a pair of values.
template <typename K, typename V>
struct MapPair {
  const K& first;
  V& second;
  template <typename A, typename B>
    requires(std::is_convertible_v<const K&, A> && std::is_convertible_v<const V&, B>)
  operator std::pair<A, B>() const {
    return std::pair<A, B>(first, second);
  }
};

template <typename K, typename V>
class Map : public MapBase {
  using Layout = MapEntryLayout<K, V>;
  static constexpr bool kStringKey = std::is_same_v<K, String>, kStringValue = std::is_same_v<V, String>;
  static constexpr MapKeyKind kKind = kStringKey       ? MapKeyKind::kString
                                      : sizeof(K) == 1 ? MapKeyKind::k1Byte
                                      : sizeof(K) == 4 ? MapKeyKind::k4Bytes
                                                       : MapKeyKind::k8Bytes;
  // How a caller names a key: by value for integers, as a string_view for strings.
  using KeyArg = std::conditional_t<kStringKey, std::string_view, K>;
  template <typename T>
  using Plain = std::conditional_t<std::is_same_v<T, String>, std::string, T>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<const Plain<K>, Plain<V>>;  // what can be inserted
  using size_type = size_t;
  using difference_type = ptrdiff_t;

  // *it is a reference to a MapPair inside the iterator: it lasts as long as the iterator, and follows it. Erasing
  // moves the last entry; adding moves nothing.
  template <bool kConst>
  class Iterator {
    using Pair = MapPair<K, std::conditional_t<kConst, const V, V>>;

   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Pair;
    using difference_type = ptrdiff_t;
    using reference = Pair&;
    using pointer = Pair*;
    Iterator() {}
    Iterator(const Map* map, uint32_t position) : map_(map), position_(position) {}
    Iterator(const Iterator& other) : Iterator(other.map_, other.position_) {}
    Iterator& operator=(const Iterator& other) {
      map_ = other.map_;
      position_ = other.position_;
      return *this;
    }
    operator Iterator<true>() const { return {map_, position_}; }
    reference operator*() const DROVER_LIFETIME_BOUND {
      void* entry = map_->entry(position_);
      if constexpr (kConst) {
        return *new (pair_) Pair{key_at(entry), value_at(entry)};
      } else {
        return *new (pair_) Pair{key_at(entry), note_value(entry)};
      }
    }
    pointer operator->() const { return &**this; }
    Iterator& operator++() { return ++position_, *this; }
    Iterator operator++(int) { return {map_, position_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.position_ == b.position_; }
    uint32_t position() const { return position_; }

   private:
    const Map* map_ = nullptr;
    uint32_t position_ = 0;
    alignas(Pair) mutable unsigned char pair_[sizeof(Pair)];  // Pair cannot be assigned: rebuilt at each *
  };
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;

  // As a variable, it owns its memory (RepeatedBase::kStandalone).
  Map() = default;
  Map(const Map& other) : MapBase() { MergeFrom(other); }
  Map(Map&& other) noexcept {
    if (!take_standalone(&other)) MergeFrom(other);
  }
  template <typename InputIterator>
    requires(!std::is_arithmetic_v<InputIterator>)
  Map(InputIterator first, InputIterator last) {
    insert(first, last);
  }

  size_t size() const { return entries().size_word(); }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, count()}; }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, count()}; }

  const_iterator find(KeyArg key) const {
    int64_t at = position_of(key);
    return at < 0 ? end() : const_iterator(this, static_cast<uint32_t>(at));
  }
  iterator find(KeyArg key) {
    int64_t at = position_of(key);
    return at < 0 ? end() : iterator(this, static_cast<uint32_t>(at));
  }
  std::pair<const_iterator, const_iterator> equal_range(KeyArg key) const { return range_from(find(key), end()); }
  std::pair<iterator, iterator> equal_range(KeyArg key) { return range_from(find(key), end()); }
  bool contains(KeyArg key) const { return position_of(key) >= 0; }
  size_t count(KeyArg key) const { return contains(key) ? 1 : 0; }
  const V& at(KeyArg key) const { return value_at(entry_of(key)); }
  V& at(KeyArg key) { return note_value(entry_of(key)); }
  V& operator[](KeyArg key) {
    int64_t position = position_of(key);
    return note_value(position < 0 ? add(key) : entry(static_cast<uint32_t>(position)));
  }

  // ---- adding: the value is set only if the key is new, as std::map does
  template <typename... Arguments>
  std::pair<iterator, bool> try_emplace(KeyArg key, Arguments&&... arguments) {
    int64_t position = position_of(key);
    if (position >= 0) return {iterator(this, static_cast<uint32_t>(position)), false};
    V& value = note_value(add(key));
    if constexpr (sizeof...(arguments) == 1) {
      value = (std::forward<Arguments>(arguments), ...);
    } else if constexpr (sizeof...(arguments) > 1) {
      value = Plain<V>(std::forward<Arguments>(arguments)...);
    }
    return {iterator(this, count() - 1), true};
  }
  template <typename A, typename B>
  std::pair<iterator, bool> emplace(A&& key, B&& value) {
    return try_emplace(KeyArg(key), std::forward<B>(value));
  }
  std::pair<iterator, bool> insert(const value_type& pair) { return try_emplace(KeyArg(pair.first), pair.second); }
  std::pair<iterator, bool> insert(value_type&& pair) {
    return try_emplace(KeyArg(pair.first), std::move(pair.second));
  }
  template <typename P>
    requires requires(const P& pair) {
      KeyArg(pair.first);
      pair.second;
    }
  std::pair<iterator, bool> insert(const P& pair) {
    return try_emplace(KeyArg(pair.first), pair.second);
  }
  template <typename InputIterator>
    requires(!std::is_arithmetic_v<InputIterator>)
  void insert(InputIterator first, InputIterator last) {
    for (; first != last; ++first) try_emplace(KeyArg(first->first), first->second);
  }
  void insert(std::initializer_list<value_type> pairs) { insert(pairs.begin(), pairs.end()); }
  template <typename Value>
  std::pair<iterator, bool> insert_or_assign(KeyArg key, Value&& value) {
    bool is_new = !contains(key);
    (*this)[key] = std::forward<Value>(value);
    return {iterator(this, static_cast<uint32_t>(position_of(key))), is_new};
  }

  // ---- removing: what an entry held goes back to its arena
  size_t erase(KeyArg key) {
    int64_t position = position_of(key);
    if (position < 0) return 0;
    erase_position(static_cast<uint32_t>(position));
    return 1;
  }
  iterator erase(iterator at) {
    erase_position(at.position());
    return at;
  }
  iterator erase(iterator first, iterator last) {
    for (uint32_t left = last.position() - first.position(); left > 0; --left)
      erase_position(first.position() + left - 1);
    return first;
  }
  void clear() {
    for (uint32_t i = 0; i < count(); ++i) release(entry(i));
    MapBase::clear();
  }

  Map& operator=(const Map& other) {
    if (this == &other) return *this;
    clear();
    MergeFrom(other);
    return *this;
  }
  // Between variables the contents trade places.
  Map& operator=(Map&& other) noexcept {
    if (!stands_alone() || !other.stands_alone()) return *this = std::as_const(other);
    swap_words(&other);
    return *this;
  }
  void MergeFrom(const Map& other) {
    for (const auto& pair : other) (*this)[KeyArg(pair.first)] = pair.second;
  }
  // Swaps in place within one arena and between variables; copies otherwise.
  void swap(Map& other) {
    if (this == &other) return;
    if (stands_alone() && other.stands_alone()) return swap_words(&other);
    if (arena() == other.arena()) return swap_words(&other);
    Arena scratch;
    OwnerWord owner = reinterpret_cast<OwnerWord>(&scratch);
    Standalone held{owner, {}};
    held.map.note_owner(&held.owner);
    held.map = *this;
    *this = other;
    other = held.map;
  }
  friend void swap(Map& a, Map& b) { a.swap(b); }
  // Bytes of the entries and the index.
  size_t SpaceUsedExcludingSelfLong() const { return size() * (Layout::kSize + sizeof(OffsetPtr<void>)); }

 private:
  struct Standalone {
    OwnerWord owner;
    Map map;
  };

  uint32_t count() const { return entries().size_word(); }
  static MapKey key(KeyArg key) {
    if constexpr (kStringKey) {
      return {key, 0};
    } else {
      MapKey result;
      std::memcpy(&result.bits, &key, sizeof(K));
      return result;
    }
  }
  int64_t position_of(KeyArg k) const { return MapBase::find(key(k), Layout::kKeyOffset, kKind); }
  void* entry_of(KeyArg key) const {
    int64_t position = position_of(key);
    if (position < 0) throw std::out_of_range("drover::Map::at");
    return entry(static_cast<uint32_t>(position));
  }
  template <typename It>
  static std::pair<It, It> range_from(It found, It end) {
    return {found, found == end ? found : It(std::next(found))};
  }
  static K& key_at(void* entry) { return *reinterpret_cast<K*>(static_cast<char*>(entry) + Layout::kKeyOffset); }
  static MapStored<V>& stored_at(void* entry) {
    return *reinterpret_cast<MapStored<V>*>(static_cast<char*>(entry) + Layout::kValueOffset);
  }
  static V& value_at(void* entry) {
    if constexpr (std::is_same_v<MapStored<V>, V>) {
      return stored_at(entry);
    } else {
      V* value = stored_at(entry).get();
      return value != nullptr ? *value : const_cast<V&>(V::default_instance());
    }
  }
  // The value, ready to be changed.
  static V& note_value(void* entry) {
    auto* owner = static_cast<OwnerWord*>(entry);
    if constexpr (kStringValue) {
      stored_at(entry).with_owner(owner);
    } else if constexpr (!std::is_same_v<MapStored<V>, V>) {
      if (!stored_at(entry)) {
        stored_at(entry).set(arena_of(owner)->template create<V>());
        if (!stored_at(entry)) fatal("out of memory for a map value");
      }
    }
    return value_at(entry);
  }
  void* add(KeyArg key) {
    Arena* memory = arena();
    void* entry = memory->allocate_recycled(Layout::kSize);
    if (entry == nullptr) fatal("out of memory for a map entry");
    std::memset(entry, 0, Layout::kSize);
    *static_cast<OwnerWord*>(entry) = reinterpret_cast<OwnerWord>(memory);
    if constexpr (kStringKey) {
      key_at(entry).assign_in(memory, key);
    } else {
      key_at(entry) = key;
    }
    if (!insert_entry(memory, entry, Layout::kKeyOffset, kKind)) fatal("out of memory for a map");
    return entry;
  }
  void erase_position(uint32_t position) {
    void* erased = entry(position);
    erase_at(position, Layout::kKeyOffset, kKind);
    release(erased);
  }
  static void release(void* entry) {
    if (*static_cast<OwnerWord*>(entry) <= kReceived) return;
    Arena* memory = arena_of(static_cast<OwnerWord*>(entry));
    if constexpr (kStringKey) key_at(entry).release_to(memory);
    if constexpr (kStringValue) {
      stored_at(entry).release_to(memory);
    } else if constexpr (!std::is_same_v<MapStored<V>, V>) {
      if (V* value = stored_at(entry).get()) {
        value->Clear();
        memory->recycle(value, sizeof(V));
      }
    }
    memory->recycle(entry, Layout::kSize);
  }
};

}  // namespace drover
