// From a request's wire bytes to what a CALL slot names: the object and its CallMetadata, in new memory of the host's
// rx. Nothing stays allocated when it fails.
#pragma once

#include <cstdint>
#include <string_view>

#include "channel/chunk_pool.h"
#include "codec/decode/decode.h"
#include "engine/base/status.h"
#include "engine/call/call.h"
#include "engine/dispatch/host_link.h"

namespace drover::engine {

struct BuiltRequest {
  DecodeResult decoded;
  bool missing_required = false;
  bool no_memory = false;
  bool try_again = false;     // with no_memory: the wire bytes are as they were
  bool wire_changed = false;  // also if it failed

  // If ok():
  uint64_t object = 0;  // region offsets
  uint64_t metadata = 0;
  ChunkRun run{};  // the memory that holds them
  RunList more;    // and what was added to it
  uint64_t chunks() const { return run.chunks + more.chunks(); }
  bool ok() const { return decoded.ok() && !no_memory && !missing_required; }
  // If not: how the call ends, unless it may wait for more memory.
  Status error() const;
  // Gives back the memory of what is not needed after all.
  void free(ChunkPool& pool);
};

// `alias`: `wire` lies in the link's region and stays there, so that strings may refer to it. Its bytes may then be
// changed (NULs behind strings), unless the result says try_again. `pause`: see DecodeOptions; if it ends the work, the
// result is not ok().
BuiltRequest build_request(const Call& call, HostLink& link, const HostMethod& method, std::string_view wire,
                           bool alias, const Pause& pause = {});

// The same without metadata, of a message of a stream; it lies elsewhere.
BuiltRequest build_message(HostLink& link, const HostMethod& method, std::string_view wire, const Pause& pause = {});
// The metadata alone, of a call whose request streams; with the pair kPathPair in front, unless `path` is empty.
BuiltRequest build_metadata(const Call& call, HostLink& link, std::string_view path = {});

}  // namespace drover::engine
