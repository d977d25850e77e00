#include "channel/doorbell.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace drover {
namespace {

// No FUTEX_PRIVATE_FLAG anywhere here: the word is shared between processes.
long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, word, operation, value, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void add_cpus(std::span<const int> cpus, std::vector<int>& all) {
  bool any = cpus.empty() || std::find_if(cpus.begin(), cpus.end(), [](int cpu) { return cpu < 0; }) != cpus.end();
  if (!any) {
    all.insert(all.end(), cpus.begin(), cpus.end());
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) all.push_back(cpu);
  }
}

}  // namespace

int64_t monotonic_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

SpinPolicy::Options SpinPolicy::for_cpus(std::span<const int> own, std::span<const int> peer, Options wanted) {
  std::vector<int> all;
  add_cpus(own, all);
  add_cpus(peer, all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() < 2) wanted.max_ns = 0;
  return wanted;
}

void SpinPolicy::waited(int64_t waited_ns) {
  if (options_.max_ns == 0) return;
  if (penalty_ > 0) {
    --penalty_;
    budget_ns_ = 0;
    return;
  }
  if (waited_ns <= options_.max_ns) {
    int64_t wanted = std::max(2 * waited_ns, options_.first_ns);
    // Up at once, down slowly: one early arrival does not unlearn the later ones.
    budget_ns_ = std::max({wanted, budget_ns_ - budget_ns_ / 8, int64_t{0}});
    budget_ns_ = std::min(budget_ns_, options_.max_ns);
  } else {
    budget_ns_ = budget_ns_ / 2 < options_.first_ns ? 0 : budget_ns_ / 2;
  }
}

bool SpinPolicy::preempted(int64_t gap_ns) {
  if (gap_ns < kPreemptionGap) return false;
  penalty_ = kPreemptionPenalty;
  budget_ns_ = 0;
  return true;
}

bool WorkerWaiter::sleep(int64_t deadline_ns) {
  timespec until{};
  if (deadline_ns != kNoDeadline) {
    deadline_ns = std::max<int64_t>(deadline_ns, 0);
    until.tv_sec = deadline_ns / 1'000'000'000;
    until.tv_nsec = deadline_ns % 1'000'000'000;
  }
  ++sleeps_;
  // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time. It returns at once if the word is not 1 any more.
  long result = futex(&own_->waiting, FUTEX_WAIT_BITSET, 1, deadline_ns == kNoDeadline ? nullptr : &until);
  return result == 0 || errno != ETIMEDOUT;
}

bool wake_worker_slow(WorkerShared& worker) {
  // The thread that clears the word makes the call; the others have nothing to do.
  if (worker.waiting.exchange(0, std::memory_order_acq_rel) == 0) return false;
  futex(&worker.waiting, FUTEX_WAKE, 1, nullptr);
  return true;
}

void wake_worker_always(WorkerShared& worker) {
  worker.waiting.store(0, std::memory_order_seq_cst);
  futex(&worker.waiting, FUTEX_WAKE, 1, nullptr);
}

bool EngineBell::ring_slow() {
  uint64_t one = 1;
  // EAGAIN: the counter is full, so the descriptor is readable and the engine will wake in any case.
  ssize_t written = ::write(eventfd_, &one, sizeof one);
  (void)written;
  return true;
}

}  // namespace drover
