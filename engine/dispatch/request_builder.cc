#include "engine/dispatch/request_builder.h"

#include <algorithm>

#include "engine/dispatch/call_records.h"
#include "message/operations.h"
#include "object/arena.h"
#include "object/owner.h"

namespace drover::engine {
namespace {

constexpr uint32_t kMaxFirstRun = 256;  // chunks; a request that needs more grows by further runs
constexpr uint32_t kPlentyFactor = 8;   // objects are rarely that much larger than their wire bytes

}  // namespace

BuiltRequest build_request(const Call& call, HostLink& link, const HostMethod& method, std::string_view wire,
                           bool alias) {
  ChunkPool& pool = link.rx();
  size_t object_size = method.request.entry().object_size;
  const size_t metadata_bytes = metadata_size(call);
  size_t estimate = 64 + object_size + metadata_bytes + (alias ? wire.size() / 4 : wire.size() * 2);
  uint32_t chunks = std::min(ChunkPool::chunks_for(estimate), kMaxFirstRun);
  BuiltRequest built;
  uint64_t offset = pool.allocate(chunks);
  if (offset == ChunkPool::kNone && chunks > 1) offset = pool.allocate(chunks = 1);
  if (offset == ChunkPool::kNone) {
    built.no_memory = built.try_again = true;
    return built;
  }
  char* base = link.region().base();
  ChunkBlockSource source(pool, base);
  Arena arena(source, base + offset, chunks * kChunkSize);
  char* memory = static_cast<char*>(arena.allocate_zeroed(object_size));
  DecodeOptions options;
  options.received = true;
  options.alias = alias;
  // NULs behind the strings destroy the wire bytes for a second try: only where one is unlikely.
  options.terminate_aliases =
      alias && pool.free_chunks() >= kPlentyFactor * ChunkPool::chunks_for(wire.size() + object_size);
  const CallMetadata* metadata = nullptr;
  auto* object = reinterpret_cast<Message*>(memory);
  if (memory == nullptr) {
    built.decoded.error = DecodeError::kOutOfMemory;
  } else {
    reinterpret_cast<MessageHeader*>(memory)->owner = kReceived;
    built.decoded = decode(method.request, object, wire, arena, options);
  }
  if (built.decoded.ok() && (method.request.entry().flags & schema::kMessageFlagRequiredBelow) != 0 &&
      !message::is_initialized(method.request, *object)) {
    built.missing_required = true;
    pool.free(offset, chunks);
    return built;
  }
  if (built.decoded.ok()) {
    metadata = write_metadata(call, metadata_bytes, arena);
    if (metadata == nullptr) built.decoded.error = DecodeError::kOutOfMemory;
  }
  if (!built.decoded.ok()) {
    built.no_memory = built.decoded.error == DecodeError::kOutOfMemory;
    built.try_again = built.no_memory && !options.terminate_aliases;
    pool.free(offset, chunks);
    return built;  // the source frees its own
  }
  built.run = {offset, chunks};
  if (!source.runs().empty()) [[unlikely]]
    built.more = source.take_runs();
  built.object = link.region().offset_of(memory);
  built.metadata = link.region().offset_of(metadata);
  return built;
}

}  // namespace drover::engine
