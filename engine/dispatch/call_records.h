// CallMetadata and CallTrailer: what travels with a request and with a response besides the objects
// (docs/formats.md, section 3). CallMetadata lies in rx, written by the engine; CallTrailer in tx, written by the
// host, and is read here as hostile bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "channel/call_records.h"
#include "engine/call/call.h"
#include "object/arena.h"
#include "object/region.h"
#include "object/string.h"

namespace drover::engine {

// Bytes that the call's record takes, with all its strings.
size_t metadata_size(const Call& call);
// The record with all its strings, NUL-terminated, in one piece of `size` bytes, which metadata_size gave. Null: the
// arena has no more.
const CallMetadata* write_metadata(const Call& call, size_t size, Arena& arena);
// The same with the pair kPathPair in front, unless `path` is empty.
size_t metadata_size(const Call& call, std::string_view path);
const CallMetadata* write_metadata(const Call& call, std::string_view path, size_t size, Arena& arena);

// A CallTrailer, copied out of the region.
struct Trailer {
  std::string message;
  std::vector<Header> initial;
  std::vector<Header> trailing;
  size_t bytes = 0;  // of all strings together
};
// Null if it was read; otherwise a static string that says what was wrong. Every word is read once. Names must be
// what HTTP/2 and gRPC allow a service to send: lower-case tokens, not pseudo, not grpc- reserved; values of other
// than -bin names printable ASCII.
const char* read_trailer(const Region& region, uint64_t offset, Trailer* out);

}  // namespace drover::engine
