#include "host/call_metadata.h"

#include "channel/call_records.h"
#include "channel/control.h"

namespace drover::host {
namespace {

constexpr const char* kOutside = "metadata that leads out of rx";

template <typename T>
T read_once(const char* from) {
  return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
}

// The record's fixed part; null if it is not all in rx.
const char* record_at(const Region& region, uint64_t offset) {
  return offset % 8 == 0 ? region.at_rx(offset, sizeof(CallMetadata)) : nullptr;
}

// The String whose words lie at `at`, inside rx.
const char* read_string(const Region& region, const char* at, std::string_view* out) {
  auto data = static_cast<uint64_t>(read_once<int64_t>(at));
  uint32_t size = read_once<uint32_t>(at + offsetof(raw::Words, size));
  *out = {};
  if (size == 0) return nullptr;
  const char* bytes = region.at_rx(region.offset_of(at) + data, size);
  if (bytes == nullptr) return kOutside;
  *out = {bytes, size};
  return nullptr;
}

const char* read_member(const Region& region, uint64_t offset, size_t member, std::string_view* out) {
  const char* record = record_at(region, offset);
  return record == nullptr ? kOutside : read_string(region, record + member, out);
}

}  // namespace

const char* read_authority(const Region& region, uint64_t offset, std::string_view* out) {
  return read_member(region, offset, offsetof(CallMetadata, authority), out);
}

const char* read_peer(const Region& region, uint64_t offset, std::string_view* out) {
  return read_member(region, offset, offsetof(CallMetadata, peer), out);
}

const char* read_identity(const Region& region, uint64_t offset, std::string_view* out) {
  return read_member(region, offset, offsetof(CallMetadata, identity), out);
}

const char* read_path(const Region& region, uint64_t offset, std::string_view* out) {
  const char* record = record_at(region, offset);
  if (record == nullptr || read_once<uint32_t>(record + offsetof(CallMetadata, count)) == 0 ||
      region.at_rx(offset, sizeof(CallMetadata) + sizeof(MetadataPair)) == nullptr) {
    return "a call of a generic service without a path";
  }
  const char* pair = record + sizeof(CallMetadata);
  std::string_view key;
  if (const char* wrong = read_string(region, pair + offsetof(MetadataPair, key), &key)) return wrong;
  if (key != kPathPair) return "a call of a generic service without a path";
  return read_string(region, pair + offsetof(MetadataPair, value), out);
}

const char* read_metadata(const Region& region, uint64_t offset, MetadataView* out) {
  if (const char* wrong = read_authority(region, offset, &out->authority)) return wrong;
  if (const char* wrong = read_peer(region, offset, &out->peer)) return wrong;
  const char* record = region.base() + offset;
  uint32_t count = read_once<uint32_t>(record + offsetof(CallMetadata, count));
  if (region.at_rx(offset, sizeof(CallMetadata) + sizeof(MetadataPair) * uint64_t{count}) == nullptr) return kOutside;
  out->pairs.clear();
  out->pairs.reserve(count);
  const char* pair = record + sizeof(CallMetadata);
  for (uint32_t i = 0; i < count; ++i, pair += sizeof(MetadataPair)) {
    auto& [key, value] = out->pairs.emplace_back();
    if (const char* wrong = read_string(region, pair + offsetof(MetadataPair, key), &key)) return wrong;
    if (const char* wrong = read_string(region, pair + offsetof(MetadataPair, value), &value)) return wrong;
  }
  return nullptr;
}

}  // namespace drover::host
