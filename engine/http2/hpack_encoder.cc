#include "engine/http2/hpack_encoder.h"

#include <algorithm>

#include "engine/http2/huffman.h"

namespace drover::engine::http2 {

namespace {

void append_integer(uint8_t first, int bits, uint64_t value, std::string& out) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  if (value < mask) {
    out.push_back(static_cast<char>(first | value));
    return;
  }
  out.push_back(static_cast<char>(first | mask));
  for (value -= mask; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_string(std::string_view text, std::string& out) {
  size_t coded = huffman_encoded_size(text);
  if (coded < text.size()) {
    append_integer(0x80, 7, coded, out);
    append_huffman(text, out);
  } else {
    append_integer(0, 7, text.size(), out);
    out.append(text);
  }
}

}  // namespace

void HpackEncoder::set_peer_limit(uint32_t bytes) {
  uint32_t size = std::min(bytes, kMaxTable);
  if (size == max_size_ && !limit_changed_) return;
  smallest_limit_ = limit_changed_ ? std::min(smallest_limit_, size) : size;
  limit_changed_ = true;
  max_size_ = size;
  evict_to(size);
}

void HpackEncoder::begin(std::string& out) {
  if (!limit_changed_) return;
  limit_changed_ = false;
  if (smallest_limit_ < max_size_) append_integer(0x20, 5, smallest_limit_, out);
  append_integer(0x20, 5, max_size_, out);
  smallest_limit_ = max_size_;
}

void HpackEncoder::field(std::string_view name, std::string_view value, Indexing indexing, std::string& out) {
  bool value_too;
  size_t index = find_static(name, value, value_too);
  if (!value_too && indexing != Indexing::kNever) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[entries_.size() - 1 - i];
      if (entry.name != name) continue;
      if (entry.value == value) {
        index = kStaticFields + 1 + i;
        value_too = true;
        break;
      }
      if (index == 0) index = kStaticFields + 1 + i;
    }
  }
  if (value_too && indexing != Indexing::kNever) return append_integer(0x80, 7, index, out);
  bool adds = indexing == Indexing::kAdd && field_size(name, value) <= max_size_;
  if (adds) {
    append_integer(0x40, 6, index, out);
  } else {
    append_integer(indexing == Indexing::kNever ? 0x10 : 0, 4, index, out);
  }
  if (index == 0) append_string(name, out);
  append_string(value, out);
  if (adds) add(name, value);
}

void HpackEncoder::usual(size_t number, const Field& usual_field, std::string& out) {
  if (size_t index = index_of(usual_[number])) {
    if (index < 0x7f) return out.push_back(static_cast<char>(0x80 | index));
    return append_integer(0x80, 7, index, out);
  }
  uint64_t before = inserted_;
  field(usual_field.name, usual_field.value, Indexing::kAdd, out);
  usual_[number] = inserted_ != before ? inserted_ : 0;
}

void HpackEncoder::add(std::string_view name, std::string_view value) {
  size_t size = field_size(name, value);
  evict_to(max_size_ - size);
  entries_.push_back({std::string(name), std::string(value)});
  ++inserted_;
  size_ += size;
}

void HpackEncoder::evict_to(size_t size) {
  size_t evicted = 0;
  for (; size_ > size; ++evicted) size_ -= field_size(entries_[evicted].name, entries_[evicted].value);
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(evicted));
}

size_t HpackEncoder::memory() const {
  size_t bytes = entries_.capacity() * sizeof(Entry);
  for (const Entry& entry : entries_) bytes += entry.name.size() + entry.value.size();
  return bytes;
}

}  // namespace drover::engine::http2
