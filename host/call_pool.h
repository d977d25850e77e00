// CallPool: a worker's Calls: taken for a CALL, found by the engine's numbers or by their own, and used again.
//
//   take -> in flight -> ended -> (its memory comes back by RELEASE) -> put_back -> take ...
//
// Thread-safety: the leader, but for in_flight().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "channel/chunk_pool.h"
#include "channel/layout.h"
#include "host/call.h"
#include "host/call_inbox.h"
#include "host/engine_link.h"

namespace drover::host {

class CallPool {
 public:
  static constexpr uint32_t kMostIndexedCalls = 1u << 20;
  static constexpr uint32_t kMostCalls = 1u << 20;  // at once; an engine with more to do has other workers
  static constexpr uint32_t kFirstChunkRun = 16;

  // Both outlive it.
  CallPool(CallInbox& inbox, EngineLink& link);
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  // A call with that engine thread's numbers, in flight from now on. Null: there are kMostCalls.
  Call* take(uint32_t engine_thread, const CallSlot& slot) {
    if (active_ >= kMostCalls) [[unlikely]]
      return nullptr;
    Call* call = nullptr;
    if (!free_.empty()) [[likely]] {
      call = free_.back();
      free_.pop_back();
    } else {
      call = make();
    }
    call->engine_thread = engine_thread;
    call->engine_call = slot.call;
    call->generation = slot.generation;
    if (slot.call < kMostIndexedCalls) [[likely]] {
      std::vector<Call*>& index = by_engine_call_[engine_thread];
      if (slot.call >= index.size()) [[unlikely]]
        index.resize(slot.call + slot.call / 2 + 64);
      index[slot.call] = call;
    }
    call->active = true;
    in_flight_.store(++active_, std::memory_order_relaxed);
    return call;
  }
  // The call in flight; null: there is no such call.
  Call* find(uint32_t engine_thread, uint32_t engine_call, uint32_t generation) const;
  // By Call::id, from 0 to size() - 1, whatever its state is.
  size_t size() const { return calls_.size(); }
  Call* at(size_t id) const { return calls_[id].get(); }
  // It is not in flight any more.
  void end(Call* call) {
    call->finished = true;
    call->active = false;
    in_flight_.store(--active_, std::memory_order_release);
  }
  // Recycles it for another CALL.
  void put_back(Call* call) {
    call->recycle();
    free_.push_back(call);
  }
  uint32_t active() const { return active_; }

  // Any thread.
  uint32_t in_flight() const { return in_flight_.load(std::memory_order_acquire); }

 private:
  Call* make();
  // Null: tx is full.
  void* take_first_chunk();

  CallInbox& inbox_;
  EngineLink& link_;
  std::vector<std::unique_ptr<Call>> calls_;  // by id
  std::vector<ChunkRun> first_chunk_runs_;    // behind the calls' first chunks
  ChunkRun unused_first_chunks_{};            // the rest of the last of them
  std::vector<Call*> free_;
  std::vector<std::vector<Call*>> by_engine_call_;  // of each engine thread
  uint32_t active_ = 0;
  alignas(64) std::atomic<uint32_t> in_flight_{0};
};

}  // namespace drover::host
