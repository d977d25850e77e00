#include "engine/dispatch/request_memory.h"

#include <algorithm>
#include <cstdlib>

namespace drover::engine {

bool RequestMemory::in_region(CallState& state, HostLink& link, size_t size) {
  uint32_t chunks = ChunkPool::chunks_for(size + 1);
  ChunkPool& pool = link.rx();
  // A quarter stays free for objects; otherwise requests that wait for room could hold all of it.
  if (pool.free_chunks() < chunks + pool.total_chunks() / 4) return false;
  const size_t bytes = chunks * kChunkSize;
  const size_t whole = pool.total_chunks() * kChunkSize;
  if (state.payer != nullptr && !state.payer->charge_share(Resource::kArriving, bytes, whole)) return false;
  uint64_t offset = pool.allocate(chunks);
  if (offset == ChunkPool::kNone) {
    if (state.payer != nullptr) state.payer->release(Resource::kArriving, bytes);
    return false;
  }
  state.arriving = state.payer != nullptr ? bytes : 0;
  state.runs.push({offset, chunks});
  state.message = link.region().base() + offset;
  state.message_size = size;
  state.message_capacity = bytes;
  return true;
}

bool RequestMemory::on_heap(CallState& state, size_t size, size_t least) {
  const size_t held = state.heap_message != nullptr ? state.message_capacity : 0;
  const size_t more = least + 1 - held;
  if (heap_bytes_ + more > max_heap_bytes_) return false;
  if (state.payer != nullptr && !state.payer->charge(Resource::kMemory, more)) return false;
  char* memory = static_cast<char*>(std::realloc(state.heap_message.get(), least + 1));
  if (memory == nullptr) {
    if (state.payer != nullptr) state.payer->release(Resource::kMemory, more);
    return false;
  }
  (void)state.heap_message.release();  // realloc has freed it
  state.heap_message.reset(memory);
  state.message = memory;
  state.message_size = size;
  state.message_capacity = least + 1;
  heap_bytes_ += more;
  return true;
}

void RequestMemory::arrived(CallState& state) {
  if (state.arriving == 0) return;
  state.payer->release(Resource::kArriving, state.arriving);
  state.arriving = 0;
}

void RequestMemory::release(CallState& state) {
  arrived(state);
  if (state.heap_message != nullptr) {
    heap_bytes_ -= state.message_capacity;
    if (state.payer != nullptr) state.payer->release(Resource::kMemory, state.message_capacity);
    state.heap_message.reset();
  }
  state.message = nullptr;
  state.message_size = state.message_capacity = 0;
}

}  // namespace drover::engine
