#include "host/crew.h"

#include <algorithm>
#include <chrono>

#include "host/log.h"
#include "host/options.h"

namespace drover::host {
namespace {

constexpr auto kIdleLook = std::chrono::milliseconds(5);
constexpr int kLooksUntilIdle = 100;

}  // namespace

Crew::Crew(const Options& options) : options_(options), monitor_([this] { monitor_main(); }) {}

Crew::~Crew() {
  {
    std::unique_lock lock(mutex_);
    quiet_.wait(lock, [this] { return watched_.empty(); });
    stop_ = true;
  }
  work_.notify_all();
  monitor_wake_.notify_all();
  monitor_.join();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::add(std::shared_ptr<Worker> worker) {
  std::lock_guard lock(mutex_);
  watched_.push_back({.worker = worker});
  assign(worker);  // even beyond max_threads: without a leader it would never serve
}

size_t Crew::threads() const {
  std::lock_guard lock(mutex_);
  return threads_.size();
}

uint64_t Crew::takeovers() const {
  std::lock_guard lock(mutex_);
  return takeovers_;
}

void Crew::thread_main() {
  if (!pin_this_thread(options_.cpus)) log(LogLevel::kWarning, "a worker thread could not be pinned to its CPUs");
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || !to_lead_.empty(); });
    if (to_lead_.empty()) return;
    std::shared_ptr<Worker> worker = std::move(to_lead_.front());
    to_lead_.pop_front();
    lock.unlock();
    Worker::Lead lead = worker->lead();
    lock.lock();
    if (lead == Worker::Lead::kDone) {
      std::erase_if(watched_, [&](const Watched& one) { return one.worker == worker; });
      quiet_.notify_all();
    }
    ++spare_;
    lock.unlock();
    worker.reset();  // may be the last owner, and unmap a region
    lock.lock();
  }
}

// With mutex_ held: gives the Worker to a spare thread, or to a new one.
void Crew::assign(const std::shared_ptr<Worker>& worker) {
  if (spare_ == 0) {
    threads_.emplace_back([this] { thread_main(); });
  } else {
    --spare_;
  }
  to_lead_.push_back(worker);
  work_.notify_one();
}

bool Crew::look_once() {
  bool moved = false;
  for (Watched& one : watched_) {
    one.worker->wake_if_ending();
    uint64_t phase = one.worker->phase();
    if (phase != one.phase) {
      one.phase = phase;
      moved = true;
      continue;
    }
    if (phase % 2 == 0) continue;
    if (one.rung_phase != phase) {  // once will do: a leader that is stuck pushes nothing
      one.rung_phase = phase;
      one.worker->ring_for_stuck_leader();
    }
    if (spare_ == 0 && threads_.size() >= options_.max_threads) continue;
    if (!one.worker->take_over(phase)) continue;
    assign(one.worker);
    ++takeovers_;
    moved = true;
  }
  return moved;
}

void Crew::monitor_main() {
  std::unique_lock lock(mutex_);
  int looks_without_change = 0;
  while (!stop_) {
    looks_without_change = look_once() ? 0 : looks_without_change + 1;
    if (looks_without_change < kLooksUntilIdle) {
      monitor_wake_.wait_for(lock, std::chrono::nanoseconds(options_.takeover_ns));
    } else {
      monitor_wake_.wait_for(lock, kIdleLook);
    }
  }
}

}  // namespace drover::host
