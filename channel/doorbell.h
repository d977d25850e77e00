// Doorbells: how a side whose rings are empty goes to sleep, and how the other side wakes it.
//
// The pattern is Dekker's, with one store and one load on each side:
//
//   sleeper                              waker
//   waiting = 1                          push the slots (release stores)
//   -- full fence --                     -- full fence --
//   rings still empty? then sleep        waiting set? then wake
//
// Without the fences both could read the old value (each side's store still in its store buffer), and the wake-up
// would be lost. With them, at least one side sees the other's store: either the sleeper finds the slot, or the
// waker finds the word set. The waker pays its fence once per batch, not per slot, and makes a system call only if
// the word is set. Wake-ups may be spurious; they are never lost.
//
// A worker sleeps on a futex on its word in tx, shared between processes (no private flag). An engine thread sleeps
// in its event loop: an eventfd that is registered there edge-triggered (EPOLLIN | EPOLLET) and never read.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "channel/layout.h"

namespace drover {

int64_t monotonic_ns();  // CLOCK_MONOTONIC

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long to spin before sleeping, learned from how long the last waits were: a wait that would have ended within
// `max_ns` makes the budget grow, a longer one halves it. A spinner that finds that it was taken off its CPU
// stops spinning for a while: somebody else needs the core more.
class SpinPolicy {
 public:
  struct Options {
    int64_t max_ns = 50'000;   // 0: never spin
    int64_t first_ns = 4'000;  // the step from no budget to some
  };
  SpinPolicy() : SpinPolicy(Options{}) {}
  explicit SpinPolicy(const Options& options) : options_(options), budget_ns_(options.max_ns) {}

  // The options for two sides that may run on these CPUs (empty: any CPU that this process may use): max_ns is 0
  // where both have only one CPU between them, since a spinner would keep from running what it waits for.
  static Options for_cpus(std::span<const int> own, std::span<const int> peer, Options wanted);
  static Options for_cpus(std::span<const int> own, std::span<const int> peer) {
    return for_cpus(own, peer, Options{});
  }

  int64_t budget_ns() const { return budget_ns_; }
  // A wait is over; from its beginning to the arrival of work it took `waited_ns`, spinning and asleep.
  void waited(int64_t waited_ns);
  // Between two looks at the clock while spinning lay `gap_ns`. True if that says that we were preempted; the
  // caller should then go to sleep at once.
  bool preempted(int64_t gap_ns);

  static constexpr int64_t kPreemptionGap = 100'000;  // ns; a tick's length, far more than any spin iteration
  static constexpr int kPreemptionPenalty = 64;       // waits without spinning after a preemption

 private:
  Options options_;
  int64_t budget_ns_;
  int penalty_ = 0;
};

// A worker's waiting side. One thread.
class WorkerWaiter {
 public:
  WorkerWaiter(WorkerShared* own, const SpinPolicy::Options& spin) : own_(own), spin_(spin) {}

  // Returns true once `ready()` does, false if `deadline_ns` (CLOCK_MONOTONIC) passed before. `ready` is called many
  // times, must be cheap, and may look at rings and at flags of this process; whoever changes such a flag must then
  // call wake_worker.
  template <typename Ready>
  bool wait(Ready&& ready, int64_t deadline_ns = kNoDeadline) {
    if (ready()) return true;
    int64_t start = monotonic_ns();
    if (spin_until(ready, start, deadline_ns)) return true;
    for (;;) {
      own_->waiting.store(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      bool found = ready();
      bool timed_out = !found && !sleep(deadline_ns);
      own_->waiting.store(0, std::memory_order_relaxed);
      if (found || ready()) {
        spin_.waited(monotonic_ns() - start);
        return true;
      }
      if (timed_out) return false;
    }
  }

  const SpinPolicy& spin() const { return spin_; }
  uint64_t sleeps() const { return sleeps_; }  // system calls made to sleep

 private:
  template <typename Ready>
  bool spin_until(Ready&& ready, int64_t start, int64_t deadline_ns) {
    int64_t budget = spin_.budget_ns();
    if (budget == 0) return false;
    int64_t end = deadline_ns - start < budget ? deadline_ns : start + budget;
    for (int64_t last = start; last < end;) {
      for (int i = 0; i < kLooksPerClock; ++i) {
        if (ready()) {
          spin_.waited(last - start);
          return true;
        }
        cpu_relax();
      }
      int64_t now = monotonic_ns();
      if (spin_.preempted(now - last)) return false;
      last = now;
    }
    return false;
  }
  bool sleep(int64_t deadline_ns);  // false: timed out

  static constexpr int kLooksPerClock = 16;
  WorkerShared* own_;
  SpinPolicy spin_;
  uint64_t sleeps_ = 0;
};

bool wake_worker_slow(WorkerShared& worker);
// Call after a batch of pushes to that worker (or after setting a flag that its `ready` looks at). True if it slept
// and a system call was made. Any thread of either process that may write tx.
inline bool wake_worker(WorkerShared& worker) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (worker.waiting.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  return wake_worker_slow(worker);
}

// The same whatever the word says, with a system call: for a wake-up that must not be lost although the other process
// may write the word, too.
void wake_worker_always(WorkerShared& worker);

// An engine thread's sleeping side, for one region. Its event loop does:
//
//   for each region: sleeper.announce();
//   if any ring of any region is ready: do not block
//   epoll_wait(...)
//   for each region: sleeper.awake();
class EngineSleeper {
 public:
  explicit EngineSleeper(EngineThreadShared* own) : own_(own) {}

  // From now on hosts ring. The caller must look at its rings once more after this and before it blocks.
  void announce() {
    if (++number_ == 0) number_ = 1;
    own_->waiting.store(number_, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void awake() { own_->waiting.store(0, std::memory_order_relaxed); }

 private:
  EngineThreadShared* own_;
  uint32_t number_ = 0;
};

// A host worker's bell to one engine thread. Each thread of the host that rings has its own (it remembers which
// sleep it has rung already). Does not own the eventfd.
class EngineBell {
 public:
  EngineBell() = default;
  EngineBell(const EngineThreadShared* engine_thread, int eventfd) : engine_(engine_thread), eventfd_(eventfd) {}

  // Call after a batch of pushes to that engine thread. True if a system call was made.
  bool ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    uint32_t number = engine_->waiting.load(std::memory_order_relaxed);
    if (number == 0 || number == rung_) [[likely]]
      return false;
    rung_ = number;
    return ring_slow();
  }

 private:
  bool ring_slow();

  const EngineThreadShared* engine_ = nullptr;
  int eventfd_ = -1;
  uint32_t rung_ = 0;
};

}  // namespace drover
