// HPACK (RFC 7541), the receiving side: a header block to fields.
//
//   | 1 index(7+) |  | 01 index(6+) name? value |  | 001 size(5+) |  | 0000 or 0001 index(4+) name? value |
//     indexed         literal, and into the table   table size        literal, not (or never) into the table
//
// One decoder a connection; scratch memory is the thread's. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/http2/field_list.h"
#include "engine/http2/header_table.h"

namespace drover::engine::http2 {

// Where a literal's value lies in its block, length included.
struct BlockRange {
  uint32_t begin = 0;
  uint32_t end = 0;  // 0: no such value
};

class HpackDecoder {
 public:
  // Decoded strings, before they are copied to where they stay.
  struct Scratch {
    std::string name;
    std::string value;
  };

  // `max_table_size`: what our SETTINGS_HEADER_TABLE_SIZE allows the peer.
  explicit HpackDecoder(uint32_t max_table_size = kDefaultTableSize)
      : max_table_size_(max_table_size), table_(max_table_size) {}

  // Appends the block's fields to `out`. False: the block is malformed, which is a connection error of type
  // COMPRESSION_ERROR; the decoder is of no further use. `variable`: a field's name; if the block carries it as a
  // literal that leaves the table alone, `variable_value` is told where.
  bool decode(std::string_view block, Scratch& scratch, FieldList& out, std::string_view variable = {},
              BlockRange* variable_value = nullptr);

  // Equal numbers mean an equal table: the same bytes decode to the same fields.
  uint64_t table_version() const { return table_.version(); }
  size_t memory() const { return table_.memory(); }

 private:
  bool lookup(uint64_t index, Field& field) const;

  uint32_t max_table_size_;
  DynamicTable table_;
};

// An integer with a prefix of `bits` bits (RFC 7541, 5.1) at `at`, which moves behind it. False if the block ends
// inside it or it exceeds 32 bits.
bool read_integer(std::string_view block, size_t& at, int bits, uint64_t& value);
// A string literal (5.2). `value` lies in `block`, or in `scratch` if it was Huffman coded.
bool read_string(std::string_view block, size_t& at, std::string& scratch, std::string_view& value);

}  // namespace drover::engine::http2
