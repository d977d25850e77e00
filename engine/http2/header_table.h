// HPACK's tables (RFC 7541, 2.3): the static one, and the decoder's dynamic one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace drover::engine::http2 {

struct Field {
  std::string_view name;
  std::string_view value;
};

inline constexpr size_t kStaticFields = 61;
inline constexpr uint8_t kStaticStatus200 = 8;  // ":status: 200"
inline constexpr size_t kFieldOverhead = 32;    // what a field counts beside its bytes (RFC 7541, 4.1)
inline constexpr uint32_t kDefaultTableSize = 4096;

// `index`: 1 to kStaticFields.
const Field& static_field(size_t index);
// The static field with this name and value, or else with this name; 0: no such name. `value_too` says which it is.
size_t find_static(std::string_view name, std::string_view value, bool& value_too);

inline size_t field_size(std::string_view name, std::string_view value) {
  return name.size() + value.size() + kFieldOverhead;
}

// A first-in, first-out list of fields, bounded by their size. Takes memory as it fills: nothing while it is empty,
// and at most twice its maximum size. Not thread-safe.
class DynamicTable {
 public:
  explicit DynamicTable(uint32_t max_size = kDefaultTableSize) : max_size_(max_size) {}

  // Field 0 is the youngest. Valid until the next insert or set_max_size. `index` < count().
  Field at(size_t index) const;
  size_t count() const { return count_; }
  // Counts every change: two equal numbers mean the same table.
  uint64_t version() const { return version_; }
  // Of the heap.
  size_t memory() const { return capacity_ + entries_.capacity() * sizeof(Entry); }

  // Evicts as it must. A field larger than the table empties it. `name` and `value` may lie in the table.
  void insert(std::string_view name, std::string_view value);
  void set_max_size(uint32_t max_size);

 private:
  struct Entry {
    uint32_t at;
    uint32_t name_size;
    uint32_t value_size;
  };
  Entry& entry(size_t age) { return entries_[(first_ + age) & (entries_.size() - 1)]; }
  const Entry& entry(size_t age) const { return entries_[(first_ + age) & (entries_.size() - 1)]; }
  void evict_to(size_t size);
  void make_room(size_t bytes);

  uint32_t max_size_;
  size_t size_ = 0;  // as HPACK counts
  size_t count_ = 0;
  uint64_t version_ = 0;
  size_t first_ = 0;            // the oldest
  std::vector<Entry> entries_;  // a ring, of a power of two
  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
  size_t end_ = 0;  // bytes behind it are free; the oldest entry's bytes are the first that are in use
};

}  // namespace drover::engine::http2
