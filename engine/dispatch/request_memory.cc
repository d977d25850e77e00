#include "engine/dispatch/request_memory.h"

#include <cstdlib>

namespace drover::engine {

char* RequestMemory::in_region(CallState& state, HostLink& link, size_t size) {
  uint32_t chunks = ChunkPool::chunks_for(size + 1);
  ChunkPool& pool = link.rx();
  // A quarter stays free for objects; otherwise requests that wait for room could hold all of it.
  if (pool.free_chunks() < chunks + pool.total_chunks() / 4) return nullptr;
  uint64_t offset = pool.allocate(chunks);
  if (offset == ChunkPool::kNone) return nullptr;
  state.runs.push({offset, chunks});
  state.message = link.region().base() + offset;
  state.message_size = size;
  state.message_capacity = chunks * kChunkSize;
  return state.message;
}

char* RequestMemory::on_heap(CallState& state, size_t size) {
  if (heap_bytes_ + size + 1 > max_heap_bytes_) return nullptr;
  state.heap_message.reset(static_cast<char*>(std::malloc(size + 1)));
  if (state.heap_message == nullptr) return nullptr;
  state.message = state.heap_message.get();
  state.message_size = size;
  state.message_capacity = size + 1;
  heap_bytes_ += size + 1;
  return state.message;
}

void RequestMemory::release(CallState& state) {
  if (state.heap_message != nullptr) {
    heap_bytes_ -= state.message_capacity;
    state.heap_message.reset();
  }
  state.message = nullptr;
  state.message_size = state.message_capacity = 0;
}

}  // namespace drover::engine
