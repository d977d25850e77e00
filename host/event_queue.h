// EventQueue: what a grpc::CompletionQueue is made of: the ends of operations, in the order in which they came, and the
// threads that wait for them in Next.
//
//   begin() ... push(tag, ok) ... next() gives (tag, ok)          one of each for each operation
//
// A thread that waits does the work of the server in the meantime, if its calls are led by queues
// (host/queue_poller.h): it looks into the rings, and sleeps where the engine wakes it. At most one thread of a server
// does so at a time; the others sleep here. Alarms go off in next(), too, so that they need no thread of their own.
//
// shutdown() lets operations that were begun end: next() says kShutdown when the last of them was taken.
//
// Thread-safe. A queue must outlive the operations that were begun with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace drover::host {

class EventQueue;

// What the threads that wait for events do meanwhile: the calls of a server that they lead (host/queue_poller.h).
class TurnWork {
 public:
  virtual bool take_turn() = 0;
  // With the turn: works until the queue has something, is poked, or `until_ns` has passed.
  virtual void serve(EventQueue& queue, int64_t until_ns, uint32_t seen_pokes) = 0;
  virtual void end_turn() = 0;

  // Around a sleep at the queue. True: the thread stands by.
  virtual bool begin_wait(EventQueue& queue) = 0;
  virtual void end_wait(EventQueue& queue, bool stood_by) = 0;
  // No turn has begun or ended since the last look, and there is none to take. For the thread that stands by.
  virtual bool quiet() = 0;
  // The next end of a turn, or the first one that can be taken, pokes the thread that stands by. False: there is a turn
  // to take.
  virtual bool stand_by_deeply() = 0;
  // The thread that has the turn looks at its queue again. Called with the queue's lock.
  virtual void wake() = 0;

 protected:
  ~TurnWork() = default;
};

// A grpc::Alarm that was set. It belongs to its Alarm; the fields belong to its queue.
struct AlarmState {
  std::atomic<EventQueue*> queue{nullptr};  // while it is pending
  void* tag = nullptr;
  std::multimap<int64_t, AlarmState*>::iterator place;  // while it is pending
  bool pending = false;
};

class EventQueue {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue();

  enum class Next { kShutdown, kEvent, kTimeout };
  // Waits until there is an event, or nothing will come any more, or CLOCK_MONOTONIC has passed `deadline_ns`. Looks
  // for events at least once.
  Next next(void** tag, bool* ok, int64_t deadline_ns);
  void shutdown();

  void begin() { pending_.fetch_add(1, std::memory_order_relaxed); }
  void push(void* tag, bool ok);

  // From now on the threads in next() take turns with that work. The first one counts.
  void join(const std::shared_ptr<TurnWork>& work);

  void set_alarm(AlarmState& alarm, int64_t at_ns, void* tag);
  // Its event comes now, with ok = false, if it is still pending.
  void cancel_alarm(AlarmState& alarm);

  // ---- for TurnWork
  // next() has something to return.
  bool ready() const { return ready_.load(std::memory_order_seq_cst); }
  uint32_t pokes() const { return pokes_.load(std::memory_order_seq_cst); }
  // Its threads look again at what they wait for.
  void poke();
  // The thread that has the turn sleeps at the worker, and wants to be woken there.
  void set_sleeping(bool sleeping) { sleeps_.store(sleeping, std::memory_order_seq_cst); }

 private:
  struct Event {
    void* tag;
    bool ok;
  };

  // With mutex_ held.
  bool take(void** tag, bool* ok);
  bool over() const { return shutdown_ && pending_.load(std::memory_order_acquire) == 0; }
  void note_ready() { ready_.store(!events_.empty() || over(), std::memory_order_seq_cst); }
  int64_t fire_alarms();
  void wake_all();

  void wake_sleeper();
  void wait(int64_t until_ns, uint32_t seen_pokes, int* quiet_looks);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Event> events_;
  std::multimap<int64_t, AlarmState*> alarms_;
  bool shutdown_ = false;
  uint32_t waiting_ = 0;   // threads that sleep at wake_
  bool has_turn_ = false;  // one of our threads serves calls, and takes an event when it is done
  std::atomic<uint64_t> pending_{0};
  std::atomic<bool> ready_{false};
  std::atomic<uint32_t> pokes_{0};
  std::atomic<bool> sleeps_{false};
  std::atomic<TurnWork*> work_{nullptr};
  std::shared_ptr<TurnWork> work_owner_;
};

}  // namespace drover::host
