#include "host/call_pool.h"

#include "host/interception.h"

namespace drover::host {

CallPool::CallPool(CallInbox& inbox, EngineLink& link)
    : inbox_(inbox), link_(link), by_engine_call_(link.layout.options().engine_threads) {}

CallPool::~CallPool() {
  calls_.clear();
  for (const ChunkRun& run : first_chunk_runs_) link_.tx.free(run.offset, run.chunks);
}

Call* CallPool::make() {
  auto id = static_cast<uint32_t>(calls_.size());
  calls_.push_back(std::make_unique<Call>(inbox_, id, link_, take_first_chunk()));
  Call* made = calls_.back().get();
  if (link_.interceptors != nullptr) made->interception = std::make_unique<Interception>(*made, *link_.interceptors);
  return made;
}

// First chunks are kept for ever, so they are taken in runs: scattered over tx they would leave no room for large
// replies.
void* CallPool::take_first_chunk() {
  if (unused_first_chunks_.chunks == 0) {
    for (uint32_t chunks : {kFirstChunkRun, 1u}) {
      uint64_t offset = link_.tx.allocate(chunks);
      if (offset == ChunkPool::kNone) continue;
      unused_first_chunks_ = {offset, chunks};
      first_chunk_runs_.push_back(unused_first_chunks_);
      break;
    }
  }
  if (unused_first_chunks_.chunks == 0) return nullptr;
  void* chunk = link_.region.base() + unused_first_chunks_.offset;
  unused_first_chunks_.offset += kChunkSize;
  --unused_first_chunks_.chunks;
  return chunk;
}

Call* CallPool::find(uint32_t engine_thread, uint32_t engine_call, uint32_t generation) const {
  auto matches = [&](const Call* call) {
    return call != nullptr && call->active && call->engine_thread == engine_thread &&
           call->engine_call == engine_call && call->generation == generation;
  };
  const std::vector<Call*>& index = by_engine_call_[engine_thread];
  if (engine_call < index.size()) {
    Call* call = index[engine_call];
    return matches(call) ? call : nullptr;
  }
  for (const auto& call : calls_) {
    if (matches(call.get())) return call.get();
  }
  return nullptr;
}

}  // namespace drover::host
