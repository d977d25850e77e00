// Parking: where a handler's thread waits until its stream has something for it.
//
//   the thread:  wait([] { return what it waits for; })       the other side:  change that; notify()
//
// notify costs a fence and a load while no thread waits. What the condition reads must be atomic; a change is seen by a
// waiting thread's next look, or that thread is woken: each side's fence stands between its store and its load.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace drover::host {

class Parking {
 public:
  // Returns once `ready` does, or after `longest_ns`; negative: no limit.
  template <typename Ready>
  void wait(Ready&& ready, int64_t longest_ns) {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::unique_lock lock(mutex_);
    if (longest_ns < 0) {
      wake_.wait(lock, ready);
    } else {
      wake_.wait_for(lock, std::chrono::nanoseconds(longest_ns), ready);
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  void notify() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_relaxed) == 0) return;
    std::lock_guard lock(mutex_);
    wake_.notify_all();
  }

 private:
  std::atomic<int> waiters_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace drover::host
