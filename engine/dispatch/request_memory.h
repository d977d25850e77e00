// RequestMemory: where a request's wire bytes lie while it is received or waits: in a run of the host's rx chunks, so
// that they are decoded in place, or on the heap within a budget.
//
// The runs belong to the call's pinned host and go back with it; only heap memory is freed here.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>

#include "engine/dispatch/call_table.h"
#include "engine/dispatch/host_link.h"

namespace drover::engine {

class RequestMemory {
 public:
  // `max_heap_bytes`: of all requests on the heap together.
  explicit RequestMemory(size_t max_heap_bytes) : max_heap_bytes_(max_heap_bytes) {}

  // Room for a message of `size` bytes and one more, as state.message. Null: the link's rx has too little to spare.
  // The caller pins the link.
  static char* in_region(CallState& state, HostLink& link, size_t size);
  // The same on the heap. Null: over the budget, or no memory.
  char* on_heap(CallState& state, size_t size);
  // The call's message is no longer needed.
  void release(CallState& state);

  size_t heap_bytes() const { return heap_bytes_; }

 private:
  const size_t max_heap_bytes_;
  size_t heap_bytes_ = 0;
};

}  // namespace drover::engine
