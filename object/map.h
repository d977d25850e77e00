// Map<K, V>: a map field of an object (docs/formats.md, section 2), with the interface of protobuf C++'s Map.
//
//   Repeated of OffsetPtr<entry> | index (OffsetPtr to a MapIndex, 0: scan)
//   entry: MessageHeader | key and value, the one of greater alignment first, the key first if equal
//
// An entry never moves while its arena lives. Up to kScanUpTo entries are searched by scanning; above that an
// open-addressing index with a per-process random seed is kept. Iteration order is insertion order (erase moves
// the last entry into the gap). Thread-safety: as std::map.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
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

template <typename K, typename V>
class Map : public MapBase {
  using Layout = MapEntryLayout<K, V>;
  static constexpr MapKeyKind kKind = std::is_same_v<K, String> ? MapKeyKind::kString
                                      : sizeof(K) == 1          ? MapKeyKind::k1Byte
                                      : sizeof(K) == 4          ? MapKeyKind::k4Bytes
                                                                : MapKeyKind::k8Bytes;
  // How a caller names a key: by value for integers, as a string_view for strings.
  using KeyArg = std::conditional_t<std::is_same_v<K, String>, std::string_view, K>;

 public:
  using key_type = K;
  using mapped_type = V;

  template <bool kConst>
  class Iterator {
    using Value = std::conditional_t<kConst, const V, V>;

   public:
    struct Pair {
      const K& first;
      Value& second;
    };
    struct Arrow {
      Pair pair;
      Pair* operator->() { return &pair; }
    };
    using iterator_category = std::forward_iterator_tag;
    using value_type = Pair;
    using difference_type = ptrdiff_t;
    using reference = Pair;
    using pointer = Arrow;
    Iterator() = default;
    Iterator(const Map* map, uint32_t position) : map_(map), position_(position) {}
    operator Iterator<true>() const { return {map_, position_}; }
    Pair operator*() const { return {key_at(map_->entry(position_)), value_at(map_->entry(position_))}; }
    Arrow operator->() const { return {**this}; }
    Iterator& operator++() { return ++position_, *this; }
    Iterator operator++(int) { return {map_, position_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.position_ == b.position_; }
    uint32_t position() const { return position_; }

   private:
    const Map* map_ = nullptr;
    uint32_t position_ = 0;
  };
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;

  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, static_cast<uint32_t>(size())}; }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  iterator begin() { return note_values(), iterator(this, 0); }
  iterator end() { return {this, static_cast<uint32_t>(size())}; }

  const_iterator find(KeyArg key) const {
    int64_t at = position_of(key);
    return at < 0 ? end() : const_iterator(this, static_cast<uint32_t>(at));
  }
  iterator find(KeyArg key) {
    int64_t at = position_of(key);
    return at < 0 ? end() : (note_values(), iterator(this, static_cast<uint32_t>(at)));
  }
  bool contains(KeyArg key) const { return position_of(key) >= 0; }
  size_t count(KeyArg key) const { return contains(key) ? 1 : 0; }
  const V& at(KeyArg key) const {
    int64_t position = position_of(key);
    if (position < 0) throw std::out_of_range("drover::Map::at");
    return value_at(entry(static_cast<uint32_t>(position)));
  }
  V& operator[](KeyArg key) {
    int64_t position = position_of(key);
    void* found = position < 0 ? add(key) : entry(static_cast<uint32_t>(position));
    return note_value(found);
  }
  // Sets the value only if the key is new, as std::map does.
  template <typename Value>
  std::pair<iterator, bool> try_emplace(KeyArg key, Value&& value) {
    int64_t position = position_of(key);
    if (position >= 0) return {iterator(this, static_cast<uint32_t>(position)), false};
    note_value(add(key)) = std::forward<Value>(value);
    return {iterator(this, static_cast<uint32_t>(size() - 1)), true};
  }
  template <typename Value>
  std::pair<iterator, bool> emplace(KeyArg key, Value&& value) {
    return try_emplace(key, std::forward<Value>(value));
  }
  template <typename P>
  std::pair<iterator, bool> insert(const P& pair) {
    return try_emplace(pair.first, pair.second);
  }
  template <typename Value>
  std::pair<iterator, bool> insert_or_assign(KeyArg key, Value&& value) {
    auto result = try_emplace(key, value);
    if (!result.second) note_value(entry(result.first.position())) = std::forward<Value>(value);
    return result;
  }
  size_t erase(KeyArg key) {
    int64_t position = position_of(key);
    if (position < 0) return 0;
    erase_at(static_cast<uint32_t>(position), Layout::kKeyOffset, kKind);
    return 1;
  }
  iterator erase(iterator at) {
    erase_at(at.position(), Layout::kKeyOffset, kKind);
    return at;
  }
  Map& operator=(const Map& other) {
    if (this == &other) return *this;
    clear();
    for (auto pair : other) (*this)[KeyArg(pair.first)] = pair.second;
    return *this;
  }

 private:
  static MapKey key(KeyArg key) {
    if constexpr (std::is_same_v<K, String>) {
      return {key, 0};
    } else {
      MapKey result;
      std::memcpy(&result.bits, &key, sizeof(K));
      return result;
    }
  }
  int64_t position_of(KeyArg k) const { return MapBase::find(key(k), Layout::kKeyOffset, kKind); }
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
    if constexpr (std::is_same_v<V, String>) {
      stored_at(entry).with_owner(owner);
    } else if constexpr (!std::is_same_v<MapStored<V>, V>) {
      if (!stored_at(entry)) {
        stored_at(entry).set(arena_of(owner)->template create<V>());
        if (!stored_at(entry)) fatal("out of memory for a map value");
      }
    }
    return value_at(entry);
  }
  void note_values() {
    if constexpr (!kIsMapScalar<V>) {
      for (int i = 0; i < size(); ++i) note_value(entry(static_cast<uint32_t>(i)));
    }
  }
  void* add(KeyArg key) {
    Arena* memory = arena();
    void* entry = memory->allocate_zeroed(Layout::kSize);
    if (entry == nullptr) fatal("out of memory for a map entry");
    *static_cast<OwnerWord*>(entry) = reinterpret_cast<OwnerWord>(memory);
    if constexpr (std::is_same_v<K, String>) {
      key_at(entry).assign_in(memory, key);
    } else {
      key_at(entry) = key;
    }
    if (!insert_entry(memory, entry, Layout::kKeyOffset, kKind)) fatal("out of memory for a map");
    return entry;
  }
};

}  // namespace drover
