// MapBase: a map field without its types (object/map.h describes the layout). Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "object/offset_ptr.h"
#include "object/pause.h"
#include "object/repeated_base.h"

namespace drover {

// One secret per process, so that no client can choose keys that collide: object/map_seed.cc draws it. A core without a
// source of randomness is given one (codec/freestanding/codec.h).
uint64_t map_seed();

enum class MapKeyKind : uint8_t { k1Byte, k4Bytes, k8Bytes, kString };

// A key's value, however it is stored. Integers are compared by their stored bytes.
struct MapKey {
  std::string_view text;
  uint64_t bits = 0;
};

using MapIndex = object_format::MapIndex;

// The untyped map; `key_offset` is where an entry holds its key.
class MapBase {
 public:
  static constexpr uint32_t kScanUpTo = 8;

  MapBase() = default;
  MapBase(const MapBase&) = delete;
  MapBase& operator=(const MapBase&) = delete;

  int size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  RepeatedBase& entries() { return entries_; }
  const RepeatedBase& entries() const { return entries_; }
  void* entry(uint32_t i) const {
    return static_cast<const OffsetPtr<void>*>(static_cast<const void*>(entries_.raw_data()))[i].get();
  }
  int64_t index_offset() const { return index_.offset(); }

  static MapKey key_of(const void* entry, uint32_t key_offset, MapKeyKind kind);
  // Position of the entry with this key, or -1.
  int64_t find(const MapKey& key, uint32_t key_offset, MapKeyKind kind) const;
  // Adds the entry, in place of one with the same key. False: out of memory, or `pause` ended it; the map is then of no
  // use.
  bool insert_entry(Arena* arena, void* entry, uint32_t key_offset, MapKeyKind kind, const Pause& pause = {});
  // The last entry takes its position.
  void erase_at(uint32_t position, uint32_t key_offset, MapKeyKind kind);
  void clear();
  bool stands_alone() const { return entries_.stands_alone(); }
  // Trades all entries with a map of the same kind in the same arena, or with a variable if both are variables.
  void swap_words(MapBase* other);
  void note_owner(const OwnerWord* owner) { entries_.note_owner(owner); }
  Arena* arena() { return entries_.arena(); }
  void rebase(int64_t delta) {
    entries_.rebase(delta);
    index_.rebase(delta);
  }

#if __STDC_HOSTED__
 protected:
  // Takes over what `other` holds, if that stands alone and this map is new.
  bool take_standalone(MapBase* other) {
    if (!entries_.take_standalone(&other->entries_)) return false;
    index_.set(other->index_.get());
    other->index_.set(nullptr);
    return true;
  }
#endif

 private:
  OffsetPtr<void>* pointers() { return static_cast<OffsetPtr<void>*>(entries_.raw_data()); }
  bool build_index(Arena* arena, uint32_t key_offset, MapKeyKind kind, const Pause& pause);
  void index_add(const MapKey& key, MapKeyKind kind, uint32_t position);
  uint64_t index_find(const MapKey& key, MapKeyKind kind, uint32_t position) const;
  void index_free(uint64_t slot, uint32_t key_offset, MapKeyKind kind);

  RepeatedBase entries_;
  OffsetPtr<MapIndex> index_;
};
static_assert(sizeof(MapBase) == 24);

}  // namespace drover
