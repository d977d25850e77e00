// RequestMemory: where a request's wire bytes lie while it is received or waits: in a run of the host's rx chunks, so
// that they are decoded in place, or on the heap within a budget.
//
// A client announces a message's length before it sends it. Memory of the region is reserved for the whole of it, as
// kArriving of the call's account, until the call is started; memory on the heap grows with what has come, as its
// kMemory.
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

  // Room for a message of `size` bytes and one more, as state.message. False: the link's rx has too little to spare, or
  // the call's account has too much of it. The caller pins the link.
  static bool in_region(CallState& state, HostLink& link, size_t size);
  // The same on the heap: room for a part of at least `least` bytes, as state.message_capacity says. Called again for
  // more; what the memory holds stays. False: over a budget, or no memory.
  bool on_heap(CallState& state, size_t size, size_t least);
  // The call is started: what it holds of the region is counted as its host's from now on.
  static void arrived(CallState& state);
  // The call's message is no longer needed.
  void release(CallState& state);

  // The same budgets, for bytes that lie elsewhere. False: over one of them.
  bool hold(Account* payer, size_t bytes) {
    if (heap_bytes_ + bytes > max_heap_bytes_) return false;
    if (payer != nullptr && !payer->charge(Resource::kMemory, bytes)) return false;
    heap_bytes_ += bytes;
    return true;
  }
  void let_go(Account* payer, size_t bytes) {
    heap_bytes_ -= bytes;
    if (payer != nullptr) payer->release(Resource::kMemory, bytes);
  }

  size_t heap_bytes() const { return heap_bytes_; }

 private:
  const size_t max_heap_bytes_;
  size_t heap_bytes_ = 0;
};

}  // namespace drover::engine
