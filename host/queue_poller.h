// QueuePoller: how the threads that wait in Next of a server's completion queues share the work of its worker.
//
// The calls of a server whose methods are all asynchronous are led by these threads: the library starts none. One of
// them at a time has the *turn*: it takes slots from the rings, and sleeps where the engine wakes it. What the
// application asks for (Finish, Write, Read) is done at once by the thread that asks, whether it has the turn or not
// (Worker::kick).
//
//   thread in Next:  event there? take it
//                    turn free?   take the turn: serve the rings until there is an event, sleep at the worker
//                    otherwise    sleep at the queue
//
// A thread that leaves with an event gives the turn up and wakes no other: it will be back in a moment. One of those
// that sleep stands by. It looks once a millisecond whether the turn is free, and takes it. When nothing has moved for
// some looks it sleeps on until a turn ends, or, while the server has no engine, until there is one.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "host/event_queue.h"
#include "host/worker.h"

namespace drover::host {

class QueuePoller final : public TurnWork {
 public:
  QueuePoller() = default;
  QueuePoller(const QueuePoller&) = delete;
  QueuePoller& operator=(const QueuePoller&) = delete;
  // A worker that still has calls of the application is never freed: their contexts may come back to it.
  ~QueuePoller();

  // ---- the control thread
  // The threads in Next lead this worker from now on, in place of the one before.
  void lead(std::shared_ptr<Worker> worker);
  // Keeps it until its last call is over, also when a crew leads it.
  void keep(std::shared_ptr<Worker> worker);
  // Does a turn's work if no thread in Next does.
  void serve_if_free();

  // ---- threads in EventQueue::next
  bool take_turn() override {
    return leads_.load(std::memory_order_acquire) && !turn_.exchange(true, std::memory_order_seq_cst);
  }
  void serve(EventQueue& queue, int64_t until_ns, uint32_t seen_pokes) override;
  void end_turn() override;
  bool begin_wait(EventQueue& queue) override;
  void end_wait(EventQueue& queue, bool stood_by) override;
  bool quiet() override;
  bool stand_by_deeply() override;
  void wake() override;

 private:
  void forget_ended();
  // A turn is underway, whose end wakes the thread that stands by; or there is no worker, and lead() wakes it.
  bool nothing_to_take() const {
    return turn_.load(std::memory_order_seq_cst) || !leads_.load(std::memory_order_seq_cst);
  }

  std::atomic<bool> leads_{false};  // there is a worker to lead
  std::atomic<bool> turn_{false};
  std::atomic<uint64_t> turns_{0};
  std::atomic<bool> deep_{false};
  std::atomic<bool> unattended_{false};  // threads sleep, and none of them stands by
  uint64_t seen_turns_ = 0;              // of the thread that stands by
  std::shared_ptr<Worker> worker_;       // changed with the turn and worker_mutex_, read with either

  std::mutex worker_mutex_;  // taken last
  std::mutex mutex_;         // taken in front of a queue's
  std::vector<std::shared_ptr<Worker>> kept_;
  std::vector<EventQueue*> waiting_;  // one for each thread that sleeps at a queue
  EventQueue* standby_ = nullptr;
};

}  // namespace drover::host
