#include "engine/dispatch/request_builder.h"

#include <algorithm>

#include "codec/compiler.h"
#include "engine/dispatch/call_records.h"
#include "engine/dispatch/raw_message.h"
#include "message/operations.h"
#include "object/arena.h"
#include "object/owner.h"

namespace drover::engine {
namespace {

constexpr uint32_t kMaxFirstRun = 256;  // chunks; a request that needs more grows by further runs
constexpr uint32_t kPlentyFactor = 8;   // objects are rarely that much larger than their wire bytes

// Room for `estimate` bytes, or for less if there is no such run. False: no chunk is free.
bool take_run(ChunkPool& pool, size_t estimate, BuiltRequest* built) {
  uint32_t chunks = std::min(ChunkPool::chunks_for(estimate), kMaxFirstRun);
  uint64_t offset = pool.allocate(chunks);
  if (offset == ChunkPool::kNone && chunks > 1) offset = pool.allocate(chunks = 1);
  built->run = {offset, chunks};
  if (offset != ChunkPool::kNone) [[likely]]
    return true;
  built->no_memory = built->try_again = true;
  return false;
}

// `call`: whose metadata goes beside the object; null: no metadata. kPlain: as HostMethod::plain.
template <bool kPlain>
DROVER_INLINE BuiltRequest build(const Call* call, HostLink& link, const HostMethod& method, std::string_view wire,
                                 bool alias, const Pause& pause) {
  ChunkPool& pool = link.rx();
  size_t object_size = method.request.entry().object_size;
  const size_t metadata_bytes = call != nullptr ? metadata_size(*call) : 0;
  size_t estimate = 64 + object_size + metadata_bytes + (alias ? wire.size() / 4 : wire.size() * 2);
  BuiltRequest built;
  if (!take_run(pool, estimate, &built)) return built;
  const auto [offset, chunks] = built.run;
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
  options.pause = pause;
  built.wire_changed = options.terminate_aliases;
  const CallMetadata* metadata = nullptr;
  auto* object = reinterpret_cast<Message*>(memory);
  if (memory == nullptr) {
    built.decoded.error = DecodeError::kOutOfMemory;
  } else {
    reinterpret_cast<MessageHeader*>(memory)->owner = kReceived;
    built.decoded = !kPlain && (method.flags & kMethodRaw) != 0
                        ? place_raw(method.request, object, wire, arena, options)
                        : decode(method.request, object, wire, arena, options);
  }
  if (!kPlain && built.decoded.ok() && !message::is_initialized(method.request, *object, pause)) {
    built.missing_required = true;
    pool.free(offset, chunks);
    return built;
  }
  if (built.decoded.ok() && call != nullptr) {
    metadata = write_metadata(*call, metadata_bytes, arena);
    if (metadata == nullptr) built.decoded.error = DecodeError::kOutOfMemory;
  }
  if (!built.decoded.ok()) {
    built.no_memory = built.decoded.error == DecodeError::kOutOfMemory;
    built.try_again = built.no_memory && !options.terminate_aliases;
    pool.free(offset, chunks);
    return built;  // the source frees its own
  }
  if (!source.runs().empty()) [[unlikely]]
    built.more = source.take_runs();
  built.object = link.region().offset_of(memory);
  if (call != nullptr) built.metadata = link.region().offset_of(metadata);
  return built;
}

DROVER_NOINLINE BuiltRequest build_other(const Call* call, HostLink& link, const HostMethod& method,
                                         std::string_view wire, bool alias, const Pause& pause) {
  return build<false>(call, link, method, wire, alias, pause);
}

}  // namespace

BuiltRequest build_request(const Call& call, HostLink& link, const HostMethod& method, std::string_view wire,
                           bool alias, const Pause& pause) {
  if (!method.plain) [[unlikely]]
    return build_other(&call, link, method, wire, alias, pause);
  return build<true>(&call, link, method, wire, alias, pause);
}

BuiltRequest build_message(HostLink& link, const HostMethod& method, std::string_view wire, const Pause& pause) {
  if (!method.plain) [[unlikely]]
    return build_other(nullptr, link, method, wire, false, pause);
  return build<true>(nullptr, link, method, wire, false, pause);
}

BuiltRequest build_metadata(const Call& call, HostLink& link, std::string_view path) {
  ChunkPool& pool = link.rx();
  const size_t bytes = metadata_size(call, path);
  BuiltRequest built;
  if (!take_run(pool, bytes, &built)) return built;
  char* base = link.region().base();
  ChunkBlockSource source(pool, base);
  Arena arena(source, base + built.run.offset, built.run.chunks * kChunkSize);
  const CallMetadata* metadata = write_metadata(call, path, bytes, arena);
  if (metadata == nullptr) {
    built.no_memory = built.try_again = true;
    pool.free(built.run.offset, built.run.chunks);
    return built;
  }
  if (!source.runs().empty()) built.more = source.take_runs();
  built.metadata = link.region().offset_of(metadata);
  return built;
}

void BuiltRequest::free(ChunkPool& pool) {
  pool.free(run.offset, run.chunks);
  more.free_all(pool);
  const bool changed = wire_changed;
  *this = BuiltRequest();
  wire_changed = changed;
}

Status BuiltRequest::error() const {
  if (missing_required) return {StatusCode::kInternal, "the request could not be decoded: a required field is missing"};
  if (!no_memory) return {StatusCode::kInternal, "the request could not be decoded: " + to_string(decoded)};
  return {StatusCode::kResourceExhausted, "the request is larger than the service's request memory"};
}

}  // namespace drover::engine
