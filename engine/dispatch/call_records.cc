// Writing CallMetadata into rx and reading CallTrailer out of tx.
#include "engine/dispatch/call_records.h"

#include <cstring>
#include <new>
#include <string_view>

#include "channel/control.h"
#include "codec/compiler.h"

namespace drover::engine {
namespace {

char* put(char* to, String* at, std::string_view text) {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  to[text.size()] = 0;
  at->borrow(to, text.size(), true);
  return to + text.size() + 1;
}

// A String of the region as two words, each read once.
struct RawString {
  uint64_t begin = 0;  // region offset
  uint32_t size = 0;
};

template <typename T>
T read_once(const char* from) {
  return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
}

// False: the bytes do not all lie inside the region.
bool read_string(const Region& region, uint64_t at, RawString* out) {
  const char* memory = region.base() + at;
  int64_t data = read_once<int64_t>(memory);
  out->size = read_once<uint32_t>(memory + offsetof(raw::Words, size));
  out->begin = at + static_cast<uint64_t>(data);
  if (out->size == 0) return true;
  return region.at(out->begin, out->size) != nullptr;
}

// The characters of an HTTP/2 field name that gRPC allows.
bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

const char* check_pair(const Header& header) {
  const auto& [name, value] = header;
  if (name.empty()) return "an empty metadata name";
  for (char c : name) {
    if (!name_character(c)) return "a metadata name with a character that gRPC does not allow";
  }
  if (name.starts_with("grpc-") && name != "grpc-status-details-bin") return "a metadata name that begins with grpc-";
  if (name == "content-type" || name == "te" || name == "connection" || name == "transfer-encoding" ||
      name == "content-length" || name == "host" || name == "upgrade" || name == "keep-alive" ||
      name == "proxy-connection") {
    return "a metadata name that belongs to the transport";
  }
  if (name.ends_with("-bin")) return nullptr;
  for (char c : value) {
    if (c < 0x20 || c > 0x7e) return "a metadata value with a character that gRPC does not allow";
  }
  return nullptr;
}

class TrailerReader {
 public:
  TrailerReader(const Region& region, uint64_t at) : region_(region), at_(at) {}

  // One String, into `out`; the same storage again and again.
  const char* string(std::string* out) {
    RawString raw;
    if (!read_string(region_, at_, &raw)) return "a trailer string outside the region";
    at_ += sizeof(String);
    bytes_ += raw.size;
    if (bytes_ > kMaxTrailerBytes) return "a trailer of more than 64 KiB";
    if (raw.size == 0) {
      out->clear();
    } else {
      out->assign(region_.base() + raw.begin, raw.size);
    }
    return nullptr;
  }
  const char* pairs(uint32_t count, std::vector<Header>* out) {
    out->resize(count);
    for (Header& header : *out) {
      if (const char* wrong = string(&header.first)) return wrong;
      if (const char* wrong = string(&header.second)) return wrong;
      if (const char* wrong = check_pair(header)) return wrong;
    }
    return nullptr;
  }
  void skip(uint64_t bytes) { at_ += bytes; }
  size_t bytes() const { return bytes_; }

 private:
  const Region& region_;
  uint64_t at_;
  size_t bytes_ = 0;
};

}  // namespace

namespace {

DROVER_INLINE size_t size_of_pair(std::string_view name, std::string_view value) {
  return sizeof(MetadataPair) + name.size() + 1 + value.size() + 1;
}

DROVER_INLINE size_t size_of_metadata(const Call& call) {
  size_t bytes = sizeof(CallMetadata) + call.authority.size() + 1 + call.peer->address.size() + 1 +
                 (call.peer->identity.empty() ? 0 : call.peer->identity.size() + 1);
  for (const Header& header : call.metadata) {
    bytes += size_of_pair(header.first, header.second);
  }
  return bytes;
}

template <bool kWithPath>
DROVER_INLINE const CallMetadata* write_record(const Call& call, std::string_view path, size_t size, Arena& arena) {
  char* memory = static_cast<char*>(arena.allocate(size));
  if (memory == nullptr) return nullptr;
  auto* record = new (memory) CallMetadata;
  uint32_t count = static_cast<uint32_t>(call.metadata.size()) + (kWithPath ? 1 : 0);
  record->count = count;
  record->zero = 0;
  auto* pair = reinterpret_cast<MetadataPair*>(memory + sizeof(CallMetadata));
  char* bytes = reinterpret_cast<char*>(pair + count);
  bytes = put(bytes, &record->authority, call.authority);
  bytes = put(bytes, &record->peer, call.peer->address);
  if (!call.peer->identity.empty()) bytes = put(bytes, &record->identity, call.peer->identity);
  if (kWithPath) {
    new (pair) MetadataPair;
    bytes = put(bytes, &pair->key, kPathPair);
    bytes = put(bytes, &pair->value, path);
    ++pair;
  }
  for (const Header& header : call.metadata) {
    new (pair) MetadataPair;
    bytes = put(bytes, &pair->key, header.first);
    bytes = put(bytes, &pair->value, header.second);
    ++pair;
  }
  return record;
}

}  // namespace

size_t metadata_size(const Call& call) { return size_of_metadata(call); }

const CallMetadata* write_metadata(const Call& call, size_t size, Arena& arena) {
  return write_record<false>(call, {}, size, arena);
}

size_t metadata_size(const Call& call, std::string_view path) {
  return size_of_metadata(call) + (path.empty() ? 0 : size_of_pair(kPathPair, path));
}

const CallMetadata* write_metadata(const Call& call, std::string_view path, size_t size, Arena& arena) {
  return path.empty() ? write_record<false>(call, path, size, arena) : write_record<true>(call, path, size, arena);
}

const char* read_trailer(const Region& region, uint64_t offset, Trailer* out) {
  if (offset % 8 != 0 || region.at_tx(offset, sizeof(CallTrailer)) == nullptr) return "a trailer outside tx";
  const char* memory = region.base() + offset;
  uint32_t initial = read_once<uint32_t>(memory + offsetof(CallTrailer, initial_count));
  uint32_t trailing = read_once<uint32_t>(memory + offsetof(CallTrailer, trailing_count));
  if (initial > kMaxTrailerPairs || trailing > kMaxTrailerPairs - initial) return "more than 256 metadata pairs";
  uint64_t size = sizeof(CallTrailer) + sizeof(MetadataPair) * uint64_t{initial + trailing};
  if (region.at_tx(offset, size) == nullptr) return "a trailer outside tx";
  TrailerReader reader(region, offset);
  if (const char* wrong = reader.string(&out->message)) return wrong;
  reader.skip(sizeof(CallTrailer) - sizeof(String));
  if (const char* wrong = reader.pairs(initial, &out->initial)) return wrong;
  if (const char* wrong = reader.pairs(trailing, &out->trailing)) return wrong;
  out->bytes = reader.bytes();
  return nullptr;
}

}  // namespace drover::engine
