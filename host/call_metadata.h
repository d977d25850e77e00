// Reading CallMetadata (docs/formats.md, section 3) out of rx, as bytes of any content: each word is read once into a
// local variable, checked, and used.
//
// The views lead into rx. The engine may change the characters that they show as long as the call runs; it cannot
// change where they are.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "object/region.h"

namespace drover::host {

struct MetadataView {
  std::string_view authority;
  std::string_view peer;
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
};

// Each returns null, or a static string that says what was wrong; `out` is then unspecified. `offset` is any number.
const char* read_metadata(const Region& region, uint64_t offset, MetadataView* out);
const char* read_authority(const Region& region, uint64_t offset, std::string_view* out);
const char* read_peer(const Region& region, uint64_t offset, std::string_view* out);
// Of a call of a method for any path: the value of its first pair, kPathPair.
const char* read_path(const Region& region, uint64_t offset, std::string_view* out);
// The properties as they are packed (channel/identity.h).
const char* read_identity(const Region& region, uint64_t offset, std::string_view* out);

}  // namespace drover::host
