#include "engine/http2/head_cache.h"

#include <cstring>

namespace drover::engine::http2 {

bool HeadCache::matches(const Entry& entry, std::string_view block, std::string& scratch, std::string_view& variable) {
  const BlockRange range = entry.variable;
  if (range.end == 0) {
    variable = {};
    return block == entry.block;
  }
  const std::string_view known = entry.block;
  const size_t suffix = known.size() - range.end;
  if (block.size() <= range.begin + suffix || std::memcmp(block.data(), known.data(), range.begin) != 0 ||
      std::memcmp(block.data() + block.size() - suffix, known.data() + range.end, suffix) != 0) {
    return false;
  }
  // What lies between must be exactly one string.
  size_t at = range.begin;
  const std::string_view rest = block.substr(0, block.size() - suffix);
  return read_string(rest, at, scratch, variable) && at == rest.size();
}

Head* HeadCache::find(std::string_view block, uint64_t table_version, std::string& scratch,
                      std::string_view& variable) {
  if (table_version != table_version_ || block.size() > kMaxBlock) return nullptr;
  for (Entry& entry : entries_) {
    if (entry.head && matches(entry, block, scratch, variable)) return entry.head.get();
  }
  return nullptr;
}

void HeadCache::remember(std::string_view block, uint64_t table_version, BlockRange variable_value,
                         const HeadRef& head) {
  if (block.size() > kMaxBlock || head.get()->memory() > kMaxHead) return;
  if (table_version != table_version_) clear();
  table_version_ = table_version;
  Entry& entry = entries_[next_];
  next_ = (next_ + 1) % kEntries;
  entry = {head, std::string(block), variable_value};
}

void HeadCache::clear() {
  for (Entry& entry : entries_) entry = {};
  next_ = 0;
}

size_t HeadCache::memory() const {
  size_t bytes = sizeof(*this);
  for (const Entry& entry : entries_) bytes += entry.block.capacity() + (entry.head ? entry.head.get()->memory() : 0);
  return bytes;
}

}  // namespace drover::engine::http2
