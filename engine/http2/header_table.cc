#include "engine/http2/header_table.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace drover::engine::http2 {

namespace {

// RFC 7541, appendix A.
constexpr Field kStatic[kStaticFields] = {
    {":authority", ""},
    {":method", "GET"},
    {":method", "POST"},
    {":path", "/"},
    {":path", "/index.html"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "200"},
    {":status", "204"},
    {":status", "206"},
    {":status", "304"},
    {":status", "400"},
    {":status", "404"},
    {":status", "500"},
    {"accept-charset", ""},
    {"accept-encoding", "gzip, deflate"},
    {"accept-language", ""},
    {"accept-ranges", ""},
    {"accept", ""},
    {"access-control-allow-origin", ""},
    {"age", ""},
    {"allow", ""},
    {"authorization", ""},
    {"cache-control", ""},
    {"content-disposition", ""},
    {"content-encoding", ""},
    {"content-language", ""},
    {"content-length", ""},
    {"content-location", ""},
    {"content-range", ""},
    {"content-type", ""},
    {"cookie", ""},
    {"date", ""},
    {"etag", ""},
    {"expect", ""},
    {"expires", ""},
    {"from", ""},
    {"host", ""},
    {"if-match", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"if-range", ""},
    {"if-unmodified-since", ""},
    {"last-modified", ""},
    {"link", ""},
    {"location", ""},
    {"max-forwards", ""},
    {"proxy-authenticate", ""},
    {"proxy-authorization", ""},
    {"range", ""},
    {"referer", ""},
    {"refresh", ""},
    {"retry-after", ""},
    {"server", ""},
    {"set-cookie", ""},
    {"strict-transport-security", ""},
    {"transfer-encoding", ""},
    {"user-agent", ""},
    {"vary", ""},
    {"via", ""},
    {"www-authenticate", ""},
};

}  // namespace

const Field& static_field(size_t index) { return kStatic[index - 1]; }

size_t find_static(std::string_view name, std::string_view value, bool& value_too) {
  size_t same_name = 0;
  value_too = false;
  for (size_t i = 0; i < kStaticFields; ++i) {
    if (kStatic[i].name != name) continue;
    if (kStatic[i].value == value) {
      value_too = true;
      return i + 1;
    }
    if (same_name == 0) same_name = i + 1;
  }
  return same_name;
}

Field DynamicTable::at(size_t index) const {
  const Entry& e = entry(count_ - 1 - index);
  return {{bytes_.get() + e.at, e.name_size}, {bytes_.get() + e.at + e.name_size, e.value_size}};
}

void DynamicTable::evict_to(size_t size) {
  while (size_ > size) {
    const Entry& oldest = entry(0);
    size_ -= oldest.name_size + oldest.value_size + kFieldOverhead;
    first_ = (first_ + 1) & (entries_.size() - 1);
    --count_;
  }
}

// Makes `bytes` free behind end_, by moving what is in use to the front, of a larger buffer if this one is half full.
void DynamicTable::make_room(size_t bytes) {
  if (capacity_ - end_ >= bytes) return;
  size_t from = count_ > 0 ? entry(0).at : end_;
  size_t used = end_ - from;
  if (2 * (used + bytes) > capacity_) {
    size_t larger = std::max<size_t>(256, 2 * (used + bytes));
    std::unique_ptr<char[]> moved(new char[larger]);
    if (used > 0) std::memcpy(moved.get(), bytes_.get() + from, used);
    bytes_ = std::move(moved);
    capacity_ = larger;
  } else {
    std::memmove(bytes_.get(), bytes_.get() + from, used);
  }
  for (size_t age = 0; age < count_; ++age) entry(age).at -= static_cast<uint32_t>(from);
  end_ = used;
}

void DynamicTable::insert(std::string_view name, std::string_view value) {
  ++version_;
  size_t size = field_size(name, value);
  if (size > max_size_) return evict_to(0);
  size_t bytes = name.size() + value.size();
  // A name or value that lies in the table, which is about to move.
  char small[kDefaultTableSize];
  std::unique_ptr<char[]> large;
  if (capacity_ - end_ < std::max<size_t>(bytes, 1)) {
    if (bytes > sizeof(small)) large.reset(new char[bytes]);
    char* kept = large ? large.get() : small;
    name.copy(kept, name.size());
    value.copy(kept + name.size(), value.size());
    name = {kept, name.size()};
    value = {kept + name.size(), value.size()};
  }
  evict_to(max_size_ - size);
  make_room(std::max<size_t>(bytes, 1));
  if (count_ == entries_.size()) {
    std::vector<Entry> larger(std::max<size_t>(8, 2 * entries_.size()));
    for (size_t age = 0; age < count_; ++age) larger[age] = entry(age);
    entries_ = std::move(larger);
    first_ = 0;
  }
  std::memcpy(bytes_.get() + end_, name.data(), name.size());
  std::memcpy(bytes_.get() + end_ + name.size(), value.data(), value.size());
  entry(count_++) = {static_cast<uint32_t>(end_), static_cast<uint32_t>(name.size()),
                     static_cast<uint32_t>(value.size())};
  end_ += bytes;
  size_ += size;
}

void DynamicTable::set_max_size(uint32_t max_size) {
  if (max_size == max_size_) return;
  ++version_;
  max_size_ = max_size;
  evict_to(max_size);
}

}  // namespace drover::engine::http2
