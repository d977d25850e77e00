#include "host/crew.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "host/log.h"
#include "host/options.h"

namespace drover::host {
namespace {

constexpr auto kIdleLook = std::chrono::milliseconds(5);
constexpr int kLooksUntilIdle = 100;
constexpr int kMostEager = 8;  // the monitor then looks sixteen times as often

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
  std::unique_lock lock(mutex_);
  quiet_.wait(lock, [this] { return threads_.empty(); });
  join_ended(lock);
}

void Crew::add(std::shared_ptr<Worker> worker) {
  std::lock_guard lock(mutex_);
  worker->set_successors(this);
  worker->hold_handlers(holding_);
  watched_.push_back({.worker = worker});
  if (spare_ == 0 && !make_spare()) fatal("the system gives no thread for a worker");
  assign(worker);
}

size_t Crew::threads() const {
  std::lock_guard lock(mutex_);
  return threads_.size();
}

uint64_t Crew::takeovers() const {
  std::lock_guard lock(mutex_);
  return takeovers_;
}

void Crew::thread_main(std::list<std::thread>::iterator self) {
  if (!pin_this_thread(options_.cpus)) log(LogLevel::kWarning, "a worker thread could not be pinned to its CPUs");
  std::unique_lock lock(mutex_);
  for (;;) {
    bool called =
        work_.wait_for(lock, std::chrono::nanoseconds(options_.idle_ns), [this] { return stop_ || !to_lead_.empty(); });
    if (to_lead_.empty() && (stop_ || (!called && spare_ > 0))) break;
    if (to_lead_.empty()) continue;
    std::shared_ptr<Worker> worker = std::move(to_lead_.front());
    to_lead_.pop_front();
    lock.unlock();
    Worker::Lead lead = worker->lead();
    lock.lock();
    if (lead == Worker::Lead::kDone) {
      std::erase_if(watched_, [&](const Watched& one) { return one.worker == worker; });
      quiet_.notify_all();
      lock.unlock();
      worker->let_go();
      lock.lock();
    }
    ++spare_;
    exhausted_ = false;
    hold_or_let_go();
    lock.unlock();
    worker.reset();  // may be the last owner, and unmap a region
    lock.lock();
  }
  --spare_;
  ended_.splice(ended_.end(), threads_, self);
  quiet_.notify_all();
}

// With mutex_ held: one more thread that waits for a Worker.
bool Crew::make_spare() {
  auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { thread_main(self); });  // it begins with a look that waits for mutex_
  } catch (const std::system_error&) {
    threads_.erase(self);
    exhausted_ = true;
    return false;
  }
  ++spare_;
  return true;
}

// With mutex_ held, and a spare thread: gives it the Worker.
void Crew::assign(const std::shared_ptr<Worker>& worker) {
  --spare_;
  to_lead_.push_back(worker);
  work_.notify_one();
  hold_or_let_go();
}

// With mutex_ held.
bool Crew::pass_lead(const Watched& from, uint64_t odd_phase) {
  // One for each handler, and one to lead each Worker.
  if (spare_ == 0 && (threads_.size() >= options_.max_threads + watched_.size() || !make_spare())) {
    hold_or_let_go();
    return false;
  }
  if (!from.worker->take_over(odd_phase)) return false;
  assign(from.worker);
  return true;
}

bool Crew::hand_over(Worker& worker, uint64_t odd_phase) {
  std::lock_guard lock(mutex_);
  for (const Watched& one : watched_) {
    if (one.worker.get() == &worker) return pass_lead(one, odd_phase);
  }
  return false;
}

// With mutex_ held. Threads without a lead are in handlers; each leader may be in one more.
void Crew::hold_or_let_go() {
  size_t blocked = threads_.size() - spare_ - std::min(watched_.size(), threads_.size() - spare_);
  bool hold = (exhausted_ && blocked > 0) || blocked + watched_.size() > options_.max_threads;
  if (hold == holding_) return;
  holding_ = hold;
  for (const Watched& one : watched_) one.worker->hold_handlers(hold);
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
    if (!pass_lead(one, phase)) continue;
    ++takeovers_;
    moved = true;
  }
  return moved;
}

void Crew::join_ended(std::unique_lock<std::mutex>& lock) {
  std::list<std::thread> ended = std::move(ended_);
  ended_.clear();
  lock.unlock();
  for (std::thread& thread : ended) thread.join();
  lock.lock();
}

void Crew::monitor_main() {
  std::unique_lock lock(mutex_);
  int looks_without_change = 0, eagerness = 0;
  while (!stop_) {
    uint64_t takeovers = takeovers_;
    looks_without_change = look_once() ? 0 : looks_without_change + 1;
    eagerness = std::clamp(takeovers_ != takeovers ? eagerness + 2 : eagerness - 1, 0, kMostEager);
    if (!ended_.empty()) join_ended(lock);
    if (stop_) break;
    if (looks_without_change < kLooksUntilIdle) {
      // Where one handler after the other blocks, they are not given the full time each.
      monitor_wake_.wait_for(lock, std::chrono::nanoseconds(options_.takeover_ns >> (eagerness / 2)));
    } else {
      monitor_wake_.wait_for(lock, kIdleLook);
    }
  }
}

}  // namespace drover::host
