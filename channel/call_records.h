// CallMetadata and CallTrailer: what travels with a request and with a reply besides the messages
// (docs/formats.md, section 3).
//
//   CallMetadata:  authority | peer | identity | count, zero | (key, value) ...    engine to host, in the request's rx
//   run CallTrailer:   message | initial_count, trailing_count | (key, value) ...      host to engine, in tx
//
// A trailer's first initial_count pairs are initial metadata, the others trailing. Strings are as in objects; the
// Strings lie in the record itself, so that a record is not movable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "channel/channel_format.h"
#include "object/string.h"

namespace drover {

struct MetadataPair {
  String key;
  String value;
};
static_assert(sizeof(MetadataPair) == sizeof(MetadataPairWords) &&
              offsetof(MetadataPair, value) == offsetof(MetadataPairWords, value));

struct CallMetadata {
  String authority;
  String peer;
  String identity;
  uint32_t count;
  uint32_t zero;

  const MetadataPair* pairs() const { return reinterpret_cast<const MetadataPair*>(this + 1); }
};
static_assert(sizeof(CallMetadata) == sizeof(CallMetadataWords) &&
              offsetof(CallMetadata, peer) == offsetof(CallMetadataWords, peer) &&
              offsetof(CallMetadata, identity) == offsetof(CallMetadataWords, identity) &&
              offsetof(CallMetadata, count) == offsetof(CallMetadataWords, count));

struct CallTrailer {
  String message;
  uint32_t initial_count;
  uint32_t trailing_count;

  MetadataPair* pairs() { return reinterpret_cast<MetadataPair*>(this + 1); }
};
static_assert(sizeof(CallTrailer) == sizeof(CallTrailerWords) &&
              offsetof(CallTrailer, initial_count) == offsetof(CallTrailerWords, initial_count) &&
              offsetof(CallTrailer, trailing_count) == offsetof(CallTrailerWords, trailing_count));

}  // namespace drover
