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
  if (table_version != table_version_) clear_blocks();
  table_version_ = table_version;
  Entry& entry = entries_[next_];
  next_ = (next_ + 1) % kEntries;
  entry = {head, std::string(block), variable_value};
}

void HeadCache::clear_blocks() {
  for (Entry& entry : entries_) entry = {};
  next_ = 0;
}

bool HeadCache::matches(const Fields& known, const std::vector<Field>& fields, size_t variable_at) {
  if (!known.head || known.variable_at != variable_at || known.lengths.size() != fields.size()) return false;
  const char* text = known.text.data();
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto [name, value] = known.lengths[i];
    if (fields[i].name.size() != name || std::memcmp(fields[i].name.data(), text, name) != 0) return false;
    text += name;
    if (i == variable_at) continue;
    if (fields[i].value.size() != value || std::memcmp(fields[i].value.data(), text, value) != 0) return false;
    text += value;
  }
  return true;
}

Head* HeadCache::find_fields(const std::vector<Field>& fields, size_t variable_at) const {
  for (const Fields& known : fields_) {
    if (matches(known, fields, variable_at)) return known.head.get();
  }
  return nullptr;
}

void HeadCache::remember_fields(const std::vector<Field>& fields, size_t variable_at, const HeadRef& head) {
  size_t size = 0;
  for (const Field& field : fields) size += field.name.size() + field.value.size();
  if (size > kMaxHead || head.get()->memory() > kMaxHead) return;
  Fields& known = fields_[next_fields_];
  next_fields_ = (next_fields_ + 1) % kEntries;
  known.head = head;
  known.variable_at = variable_at;
  known.text.clear();
  known.lengths.clear();
  for (size_t i = 0; i < fields.size(); ++i) {
    known.text.append(fields[i].name);
    if (i != variable_at) known.text.append(fields[i].value);
    known.lengths.emplace_back(fields[i].name.size(), fields[i].value.size());
  }
}

size_t HeadCache::memory() const {
  size_t bytes = sizeof(*this);
  for (const Entry& entry : entries_) bytes += entry.block.capacity();
  for (const Fields& known : fields_) {
    bytes += known.text.capacity() + known.lengths.capacity() * sizeof(known.lengths[0]);
  }
  return bytes;
}

}  // namespace drover::engine::http2
