// The index of a map, and maps without their types. Freestanding.
#include "object/map_base.h"

#include <cstring>
#include <new>

#include "object/folded_product.h"

namespace drover {
namespace {

// Between two pauses.
constexpr size_t kClearedAtOnce = 256 << 10;
constexpr uint32_t kIndexedAtOnce = 2048;

uint64_t hash_key(const MapKey& key, MapKeyKind kind, uint64_t seed) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  if (kind != MapKeyKind::kString) return folded_product(key.bits ^ seed, kOdd ^ (seed << 1 | 1));
  uint64_t hash = seed ^ key.text.size();
  const char* at = key.text.data();
  size_t left = key.text.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = folded_product(hash ^ word, kOdd);
  }
  uint64_t word = 0;
  if (left != 0) std::memcpy(&word, at, left);
  return folded_product(hash ^ word, kOdd ^ seed);
}

bool same_key(const MapKey& a, const MapKey& b, MapKeyKind kind) {
  return kind == MapKeyKind::kString ? a.text == b.text : a.bits == b.bits;
}

size_t key_bytes(MapKeyKind kind) {
  switch (kind) {
    case MapKeyKind::k1Byte:
      return 1;
    case MapKeyKind::k4Bytes:
      return 4;
    default:
      return 8;
  }
}

uint32_t* slots(MapIndex* index) { return reinterpret_cast<uint32_t*>(index + 1); }
size_t index_bytes(uint32_t mask) { return sizeof(MapIndex) + (size_t{mask} + 1) * sizeof(uint32_t); }

}  // namespace

MapKey MapBase::key_of(const void* entry, uint32_t key_offset, MapKeyKind kind) {
  const char* at = static_cast<const char*>(entry) + key_offset;
  MapKey key;
  if (kind == MapKeyKind::kString) {
    auto* words = reinterpret_cast<const raw::Words*>(at);
    key.text = words->size == 0 ? std::string_view() : std::string_view(words->begin(), words->size);
  } else {
    std::memcpy(&key.bits, at, key_bytes(kind));
  }
  return key;
}

int64_t MapBase::find(const MapKey& key, uint32_t key_offset, MapKeyKind kind) const {
  uint32_t count = static_cast<uint32_t>(size());
  MapIndex* index = index_.get();
  if (index == nullptr) {
    for (uint32_t i = 0; i < count; ++i) {
      if (same_key(key, key_of(entry(i), key_offset, kind), kind)) return i;
    }
    return -1;
  }
  for (uint64_t at = hash_key(key, kind, index->seed);; ++at) {
    uint32_t slot = slots(index)[at & index->mask];
    if (slot == 0) return -1;
    if (same_key(key, key_of(entry(slot - 1), key_offset, kind), kind)) return slot - 1;
  }
}

bool MapBase::insert_entry(Arena* arena, void* new_entry, uint32_t key_offset, MapKeyKind kind, const Pause& pause) {
  MapKey key = key_of(new_entry, key_offset, kind);
  int64_t found = find(key, key_offset, kind);
  if (found >= 0) {
    pointers()[found].set(new_entry);
    return true;
  }
  uint32_t position = static_cast<uint32_t>(size());
  if (!entries_.reserve_in(arena, position + 1, sizeof(OffsetPtr<void>), RepeatedBase::Elements::kPointers)) {
    return false;
  }
  pointers()[position].set(new_entry);
  entries_.set_raw_size(position + 1);
  MapIndex* index = index_.get();
  bool crowded = index != nullptr && (position + 1) * 2 > index->mask;
  if ((index == nullptr && position + 1 > kScanUpTo) || crowded) {
    if (build_index(arena, key_offset, kind, pause)) return true;
    entries_.set_raw_size(position);
    return false;
  }
  if (index != nullptr) index_add(key, kind, position);
  return true;
}

bool MapBase::build_index(Arena* arena, uint32_t key_offset, MapKeyKind kind, const Pause& pause) {
  MapIndex* old = index_.get();
  uint32_t mask = 31;
  while (static_cast<uint32_t>(size()) * 2 > mask) mask = mask * 2 + 1;
  void* memory = arena->allocate_recycled(index_bytes(mask));
  if (memory == nullptr) return false;
  const size_t bytes = index_bytes(mask);
  for (size_t at = 0; at < bytes; at += kClearedAtOnce) {
    if (at != 0 && !pause()) return false;
    std::memset(static_cast<char*>(memory) + at, 0, bytes - at < kClearedAtOnce ? bytes - at : kClearedAtOnce);
  }
  auto* index = new (memory) MapIndex{map_seed() ^ reinterpret_cast<uintptr_t>(this), mask, 0};
  if (old != nullptr) arena->recycle(old, index_bytes(old->mask));
  index_.set(index);
  for (int i = 0; i < size(); ++i) {
    uint32_t position = static_cast<uint32_t>(i);
    if (position % kIndexedAtOnce == kIndexedAtOnce - 1 && !pause()) return false;
    index_add(key_of(entry(position), key_offset, kind), kind, position);
  }
  return true;
}

void MapBase::index_add(const MapKey& key, MapKeyKind kind, uint32_t position) {
  MapIndex* index = index_.get();
  uint64_t at = hash_key(key, kind, index->seed);
  while (slots(index)[at & index->mask] != 0) ++at;
  slots(index)[at & index->mask] = position + 1;
}

// The slot that holds `position`, whose entry has this key.
uint64_t MapBase::index_find(const MapKey& key, MapKeyKind kind, uint32_t position) const {
  MapIndex* index = index_.get();
  uint64_t at = hash_key(key, kind, index->seed);
  while (slots(index)[at & index->mask] != position + 1) ++at;
  return at & index->mask;
}

// Frees a slot. Entries behind it without a gap move up, unless their home slot lies in between. So no search meets a
// gap before its entry, and no tombstones are needed.
void MapBase::index_free(uint64_t hole, uint32_t key_offset, MapKeyKind kind) {
  MapIndex* index = index_.get();
  uint64_t mask = index->mask;
  for (uint64_t at = (hole + 1) & mask; slots(index)[at] != 0; at = (at + 1) & mask) {
    uint64_t home = hash_key(key_of(entry(slots(index)[at] - 1), key_offset, kind), kind, index->seed) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots(index)[hole] = slots(index)[at];
    hole = at;
  }
  slots(index)[hole] = 0;
}

void MapBase::erase_at(uint32_t position, uint32_t key_offset, MapKeyKind kind) {
  uint32_t last = static_cast<uint32_t>(size()) - 1;
  MapIndex* index = index_.get();
  if (index != nullptr) {
    index_free(index_find(key_of(entry(position), key_offset, kind), kind, position), key_offset, kind);
    if (position != last) {
      slots(index)[index_find(key_of(entry(last), key_offset, kind), kind, last)] = position + 1;
    }
  }
  pointers()[position].set(pointers()[last].get());
  pointers()[last].set(nullptr);
  entries_.set_raw_size(last);
}

void MapBase::swap_words(MapBase* other) {
  entries_.swap_words(&other->entries_);
  MapIndex* mine = index_.get();
  index_.set(other->index_.get());
  other->index_.set(mine);
}

void MapBase::clear() {
  entries_.set_raw_size(0);
  MapIndex* index = index_.get();
  if (index != nullptr) std::memset(slots(index), 0, (size_t{index->mask} + 1) * sizeof(uint32_t));
}

}  // namespace drover
