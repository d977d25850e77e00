#include "engine/http2/hpack_decoder.h"

#include <optional>

#include "engine/http2/huffman.h"

namespace drover::engine::http2 {

bool read_integer(std::string_view block, size_t& at, int bits, uint64_t& value) {
  if (at >= block.size()) return false;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  value = static_cast<uint8_t>(block[at++]) & mask;
  if (value < mask) return true;
  for (int shift = 0; at < block.size(); shift += 7) {
    auto byte = static_cast<uint8_t>(block[at++]);
    if (shift > 28) return false;
    value += uint64_t{byte & 0x7fu} << shift;
    if (value > UINT32_MAX) return false;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool read_string(std::string_view block, size_t& at, std::string& scratch, std::string_view& value) {
  if (at >= block.size()) return false;
  const bool coded = (static_cast<uint8_t>(block[at]) & 0x80) != 0;
  uint64_t size;
  if (!read_integer(block, at, 7, size) || size > block.size() - at) return false;
  std::string_view bytes = block.substr(at, size);
  at += size;
  if (!coded) {
    value = bytes;
    return true;
  }
  if (scratch.size() < huffman_decoded_bound(size)) scratch.resize(huffman_decoded_bound(size));
  std::optional<size_t> decoded = huffman_decode(bytes, scratch.data());
  if (!decoded) return false;
  value = {scratch.data(), *decoded};
  return true;
}

bool HpackDecoder::lookup(uint64_t index, Field& field) const {
  if (index == 0) return false;
  if (index <= kStaticFields) {
    field = static_field(index);
    return true;
  }
  if (index - kStaticFields > table_.count()) return false;
  field = table_.at(index - kStaticFields - 1);
  return true;
}

bool HpackDecoder::decode(std::string_view block, Scratch& scratch, FieldList& out, std::string_view variable,
                          BlockRange* variable_value) {
  size_t at = 0;
  bool fields_begun = false;
  while (at < block.size()) {
    auto first = static_cast<uint8_t>(block[at]);
    uint64_t number;
    Field field;
    if (first & 0x80) {
      if (!read_integer(block, at, 7, number) || !lookup(number, field)) return false;
      out.add(field.name, field.value);
    } else if ((first & 0xe0) == 0x20) {
      // Only in front of the fields, and never above what we allowed (RFC 7541, 4.2 and 6.3).
      if (fields_begun || !read_integer(block, at, 5, number) || number > max_table_size_) return false;
      table_.set_max_size(static_cast<uint32_t>(number));
      continue;
    } else {
      const bool insert = (first & 0x40) != 0;
      if (!read_integer(block, at, insert ? 6 : 4, number)) return false;
      if (number == 0 ? !read_string(block, at, scratch.name, field.name) : !lookup(number, field)) return false;
      const size_t value_at = at;
      if (!read_string(block, at, scratch.value, field.value)) return false;
      if (variable_value && !insert && field.name == variable) {
        *variable_value = {static_cast<uint32_t>(value_at), static_cast<uint32_t>(at)};
      }
      out.add(field.name, field.value);
      if (insert) table_.insert(field.name, field.value);
    }
    fields_begun = true;
  }
  return true;
}

}  // namespace drover::engine::http2
