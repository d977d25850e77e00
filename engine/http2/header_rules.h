// What RFC 9113 (8.2, 8.3) asks of a header block beyond HPACK: legal names and values, pseudo-header fields in front,
// each once, none of the fields that belong to a connection, a well-formed content-length.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/http2/header_table.h"

namespace drover::engine::http2 {

enum class BlockKind : uint8_t { kRequest, kResponse, kTrailers };

// Views lie in the fields that were checked.
struct HeadSummary {
  const char* malformed = nullptr;  // what is wrong, for logs; null: the block is well-formed
  std::string_view method;
  std::string_view scheme;
  std::string_view path;
  std::string_view authority;   // of :authority
  uint32_t status = 0;          // of a response
  int64_t content_length = -1;  // -1: the block has no content-length
  size_t first_regular = 0;     // the fields from here on are no pseudo-header fields
};

// RFC 9110, 5.5, without control characters.
bool legal_value(std::string_view value);

HeadSummary check_fields(BlockKind kind, const std::vector<Field>& fields);

}  // namespace drover::engine::http2
