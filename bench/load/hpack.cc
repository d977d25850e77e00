// The few representations of HPACK that a fixed request needs, and the walk over nghttp2's inflater.

#include "bench/load/hpack.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace drover::bench {
namespace {

// Entries of the static table (RFC 7541, appendix A).
constexpr uint32_t kAuthority = 1;
constexpr uint32_t kMethodPost = 3;
constexpr uint32_t kPath = 4;
constexpr uint32_t kSchemeHttp = 6;
constexpr uint32_t kContentType = 31;
constexpr uint32_t kUserAgent = 58;
constexpr uint32_t kNewName = 0;
constexpr uint32_t kFirstDynamic = 62;
constexpr uint32_t kEntryOverhead = 32;

constexpr uint8_t kIndexedBit = 0x80;
constexpr uint8_t kLiteralIndexingBit = 0x40;

void append_integer(std::vector<uint8_t>* out, uint8_t first, int prefix_bits, size_t value) {
  const size_t limit = (size_t{1} << prefix_bits) - 1;
  if (value < limit) {
    out->push_back(static_cast<uint8_t>(first | value));
    return;
  }
  out->push_back(static_cast<uint8_t>(first | limit));
  for (value -= limit; value >= 0x80; value >>= 7) out->push_back(static_cast<uint8_t>(value | 0x80));
  out->push_back(static_cast<uint8_t>(value));
}

void append_string(std::vector<uint8_t>* out, std::string_view text) {
  append_integer(out, 0, 7, text.size());
  out->insert(out->end(), text.begin(), text.end());
}

struct Literal {
  uint32_t name_index;
  std::string_view name;
  std::string_view value;
};

// A block whose every byte has its top bit set and is not the 0xFF prefix holds one-byte indexed fields only: reading
// it does not change the table. 0 if the block is not of that kind or too long.
uint64_t table_only_key(std::span<const uint8_t> block) {
  if (block.empty() || block.size() > 7) return 0;
  uint64_t key = 0;
  for (const uint8_t byte : block) {
    if (byte < kIndexedBit || byte == 0xFF) return 0;
    key = key << 8 | byte;
  }
  return key;
}

int to_number(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -2;
}

}  // namespace

RequestBlocks encode_request_headers(std::string_view path, std::string_view authority, bool indexed) {
  const Literal literals[] = {
      {kPath, ":path", path},
      {kAuthority, ":authority", authority},
      {kNewName, "te", "trailers"},
      {kContentType, "content-type", "application/grpc"},
      {kUserAgent, "user-agent", "drover-load"},
  };
  RequestBlocks blocks;
  blocks.first = {kIndexedBit | kMethodPost, kIndexedBit | kSchemeHttp};
  blocks.later = blocks.first;
  uint32_t dynamic_index = kFirstDynamic + static_cast<uint32_t>(std::size(literals));
  for (const Literal& literal : literals) {
    append_integer(&blocks.first, indexed ? kLiteralIndexingBit : 0, indexed ? 6 : 4, literal.name_index);
    if (literal.name_index == kNewName) append_string(&blocks.first, literal.name);
    append_string(&blocks.first, literal.value);
    append_integer(&blocks.later, kIndexedBit, 7, --dynamic_index);
    blocks.table_size += static_cast<uint32_t>(literal.name.size() + literal.value.size()) + kEntryOverhead;
  }
  if (!indexed) {
    blocks.later = blocks.first;
    blocks.table_size = 0;
  }
  return blocks;
}

ResponseDecoder::ResponseDecoder() {
  nghttp2_hd_inflater* inflater = nullptr;
  if (nghttp2_hd_inflate_new(&inflater) == 0) inflater_.reset(inflater);
}

bool ResponseDecoder::decode(std::span<const uint8_t> block, ResponseHeaders* headers) {
  const uint64_t key = table_only_key(block);
  if (key != 0) {
    for (const KnownBlock& known : known_) {
      if (known.key != key) continue;
      if (known.http_status != -1) headers->http_status = known.http_status;
      if (known.grpc_status != -1) headers->grpc_status = known.grpc_status;
      return true;
    }
  } else {
    for (KnownBlock& known : known_) known.key = 0;
  }
  ResponseHeaders decoded;
  if (!inflate(block, &decoded)) return false;
  if (key != 0 && decoded.grpc_message.empty()) {
    known_[next_known_++ % std::size(known_)] = {key, decoded.http_status, decoded.grpc_status};
  }
  if (decoded.http_status != -1) headers->http_status = decoded.http_status;
  if (decoded.grpc_status != -1) headers->grpc_status = decoded.grpc_status;
  if (!decoded.grpc_message.empty()) headers->grpc_message = std::move(decoded.grpc_message);
  return true;
}

bool ResponseDecoder::inflate(std::span<const uint8_t> block, ResponseHeaders* headers) {
  if (inflater_ == nullptr) return false;
  for (;;) {
    nghttp2_nv field;
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater_.get(), &field, &flags, block.data(), block.size(), 1);
    if (used < 0) return false;
    block = block.subspan(static_cast<size_t>(used));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      const std::string_view name(reinterpret_cast<const char*>(field.name), field.namelen);
      const std::string_view value(reinterpret_cast<const char*>(field.value), field.valuelen);
      if (name == ":status") {
        headers->http_status = to_number(value);
      } else if (name == "grpc-status") {
        headers->grpc_status = to_number(value);
      } else if (name == "grpc-message") {
        headers->grpc_message = value;
      }
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
      nghttp2_hd_inflate_end_headers(inflater_.get());
      return block.empty();
    }
    if (block.empty() && (flags & NGHTTP2_HD_INFLATE_EMIT) == 0) return false;
  }
}

}  // namespace drover::bench
