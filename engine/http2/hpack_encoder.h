// HPACK (RFC 7541), the sending side: fields to a header block.
//
// A caller says which fields repeat (kAdd): those go into the dynamic table, whose maximum is what the peer allows and
// kMaxTable. `usual` fields, such as a content-type, cost a comparison of numbers once the table holds them.
// One encoder a connection. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/http2/header_table.h"

namespace drover::engine::http2 {

enum class Indexing : uint8_t {
  kAdd,    // into the dynamic table
  kPlain,  // as a literal
  kNever,  // as a literal that no intermediary may put into a table: secrets (RFC 7541, 7.1.3)
};

class HpackEncoder {
 public:
  static constexpr uint32_t kMaxTable = 2048;
  static constexpr size_t kMaxUsual = 4;

  // The peer's SETTINGS_HEADER_TABLE_SIZE. The next block tells it what we make of it.
  void set_peer_limit(uint32_t bytes);

  // Begins a block: call before its first field.
  void begin(std::string& out);
  void field(std::string_view name, std::string_view value, Indexing indexing, std::string& out);
  // A field of the static table, whole, by its index.
  static void constant(uint8_t index, std::string& out) { out.push_back(static_cast<char>(0x80 | index)); }
  // As field(..., kAdd), remembered under `number` (below kMaxUsual), which always stands for the same field.
  void usual(size_t number, const Field& field, std::string& out);

  size_t memory() const;

 private:
  struct Entry {
    std::string name;
    std::string value;
  };
  // HPACK's index of the entry that was the `insertion`th (from 1 on); 0: it is gone.
  size_t index_of(uint64_t insertion) const {
    uint64_t age = inserted_ - insertion;
    return insertion != 0 && age < entries_.size() ? kStaticFields + 1 + age : 0;
  }
  void add(std::string_view name, std::string_view value);
  void evict_to(size_t size);

  std::vector<Entry> entries_;  // the oldest first
  uint64_t inserted_ = 0;
  size_t size_ = 0;
  uint32_t max_size_ = kMaxTable < kDefaultTableSize ? kMaxTable : kDefaultTableSize;
  uint32_t smallest_limit_ = kMaxTable;  // since the last block
  bool limit_changed_ = kMaxTable < kDefaultTableSize;
  std::array<uint64_t, kMaxUsual> usual_{};
};

}  // namespace drover::engine::http2
