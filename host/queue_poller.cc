#include "host/queue_poller.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "channel/doorbell.h"

namespace drover::host {

QueuePoller::~QueuePoller() {
  for (auto& worker : kept_) {
    if (!worker->over()) new std::shared_ptr<Worker>(std::move(worker));
  }
}

// ---- the control thread

void QueuePoller::lead(std::shared_ptr<Worker> worker) {
  keep(worker);
  worker->lead_by_queues();
  while (turn_.exchange(true, std::memory_order_seq_cst)) {
    wake();
    std::this_thread::yield();
  }
  {
    std::lock_guard lock(worker_mutex_);
    worker_ = std::move(worker);
  }
  leads_.store(true, std::memory_order_release);
  turn_.store(false, std::memory_order_seq_cst);
  std::lock_guard lock(mutex_);
  forget_ended();
  for (EventQueue* queue : waiting_) queue->poke();
}

void QueuePoller::keep(std::shared_ptr<Worker> worker) {
  std::lock_guard lock(mutex_);
  forget_ended();
  kept_.push_back(std::move(worker));
}

void QueuePoller::forget_ended() {
  std::erase_if(kept_, [](const auto& worker) { return worker->over(); });
}

void QueuePoller::serve_if_free() {
  if (!take_turn()) return;
  worker_->serve_turn(nullptr);
  end_turn();
}

// ---- threads in next

void QueuePoller::serve(EventQueue& queue, int64_t until_ns, uint32_t seen_pokes) {
  turns_.fetch_add(1, std::memory_order_relaxed);
  int64_t deadline = std::min(worker_->serve_turn(&queue), until_ns);
  if (queue.ready() || queue.pokes() != seen_pokes) return;
  if (until_ns != kNoDeadline && monotonic_ns() >= until_ns) return;
  queue.set_sleeping(true);
  worker_->wait_for_work([&] { return queue.ready() || queue.pokes() != seen_pokes; }, deadline);
  queue.set_sleeping(false);
  if (!worker_->gone()) return;
  worker_->serve_turn(nullptr);                    // what waits for the engine ends; what comes later ends as it comes
  leads_.store(false, std::memory_order_release);  // until there is another one
}

void QueuePoller::end_turn() {
  turns_.fetch_add(1, std::memory_order_relaxed);
  turn_.store(false, std::memory_order_seq_cst);
  const bool deep = deep_.load(std::memory_order_seq_cst) && deep_.exchange(false);
  if (!deep && !unattended_.load(std::memory_order_seq_cst)) return;
  std::lock_guard lock(mutex_);
  if (standby_ != nullptr) {
    if (deep) standby_->poke();
  } else if (!waiting_.empty()) {
    waiting_.front()->poke();  // it stands by from now on
  }
}

bool QueuePoller::begin_wait(EventQueue& queue) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(&queue);
  if (standby_ != nullptr) return false;
  standby_ = &queue;
  unattended_.store(false, std::memory_order_relaxed);
  return true;
}

void QueuePoller::end_wait(EventQueue& queue, bool stood_by) {
  std::lock_guard lock(mutex_);
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &queue));
  if (!stood_by) return;
  standby_ = nullptr;
  unattended_.store(!waiting_.empty(), std::memory_order_seq_cst);
  deep_.store(false, std::memory_order_relaxed);
  if (queue.ready() && !waiting_.empty()) waiting_.front()->poke();  // it may stand by while this thread is away
}

bool QueuePoller::quiet() {
  uint64_t turns = turns_.load(std::memory_order_relaxed);
  return std::exchange(seen_turns_, turns) == turns && nothing_to_take();
}

bool QueuePoller::stand_by_deeply() {
  deep_.store(true, std::memory_order_seq_cst);
  return nothing_to_take();
}

void QueuePoller::wake() {
  std::lock_guard lock(worker_mutex_);
  if (worker_ != nullptr) worker_->wake_sleeper();
}

}  // namespace drover::host
