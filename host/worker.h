// Worker: the host's end of one channel to each engine thread. It takes CALLs from the rings, runs handlers, and sends
// COMPLETEs. Leadership: which thread may do that.
//
// Exactly one thread, the *leader*, works on a Worker's rings, calls and free lists at any time; none of that needs
// locks. The leader runs handlers itself, inline. While it is in the application's code the Worker's phase is odd
// (host/lead_phase.h), so that a handler that blocks delays only its own call: once the Crew's monitor (host/crew.h)
// has seen the same odd phase for about 1 ms, it gives the lead to a spare thread. The thread that lost it posts an
// event to the Worker's inbox once its handler returns, and becomes a spare.
//
// Finish from any other thread goes through the same inbox (host/call_inbox.h).
//
//   rings and doorbells   host/engine_channels.h        from the handler's return on   host/answers.h
//   calls                 host/call_pool.h              streams                        host/streams.h
//
// The engine's death (`EngineLink::gone`): every call is cancelled, answers are dropped, and the Worker ends with its
// last call.
//
// What comes from the engine is checked before it is used (host/engine_link.h): nothing that a Worker trusts lies where
// the engine could write.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "channel/doorbell.h"
#include "channel/layout.h"
#include "host/answers.h"
#include "host/async_calls.h"
#include "host/call.h"
#include "host/call_inbox.h"
#include "host/call_pool.h"
#include "host/engine_channels.h"
#include "host/engine_link.h"
#include "host/lead_phase.h"
#include "host/streams.h"

namespace drover::host {

class EventQueue;
class Worker;

// Who finds a Worker another leader: the Crew.
class Successors {
 public:
  // Takes the lead from the calling thread, which is in the application's code of `odd_phase`, and gives it to another
  // one. False: the lead is lost already, or no thread can be had.
  virtual bool hand_over(Worker& worker, uint64_t odd_phase) = 0;

 protected:
  ~Successors() = default;
};

class Worker final : private StreamWorker, private InboxOwner {
 public:
  Worker(std::shared_ptr<EngineLink> link, uint32_t index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  enum class Lead { kLost, kDone };
  // Leads until another thread has taken over (kLost: the Worker must not be used any more) or until the engine is
  // gone and no call is left but asynchronous ones (kDone). The caller has the lead: it is the first, or take_over
  // succeeded for it.
  Lead lead();
  // After kDone, once nothing takes the lead over any more: those who end the asynchronous calls that are left serve
  // them.
  void let_go() { unlock_lead(); }
  // What lead() does until it would sleep. False: the lead was lost.
  bool serve();

  // ---- any thread
  // The phase; odd while the application's code runs. See take_over.
  uint64_t phase() const { return phase_.now(); }
  // Takes the lead away from a thread that is still in the same piece of application code as when `odd_phase` was read.
  bool take_over(uint64_t odd_phase) { return phase_.take_over(odd_phase); }
  // The leader looks at all calls for ones that have become cancelled; also after a change of EngineLink's flags.
  void request_cancel_scan() { inbox_.request_cancel_scan(); }
  // Rings for answers that a leader has pushed, but not announced before its handler blocked. One thread at a time: the
  // Crew's monitor.
  void ring_for_stuck_leader() { channels_.ring_for_stuck_leader(); }
  // Once the engine is gone: wakes the leader, whatever that engine has left in the word that it sleeps on.
  void wake_if_ending() {
    if (link_->gone.load(std::memory_order_relaxed)) [[unlikely]]
      wake_worker_always(*shared_);
  }
  // From now on synchronous handlers wait for their turn, or no longer: too many of them block.
  void hold_handlers(bool hold) { hold_handlers_.store(hold, std::memory_order_relaxed); }
  // Before the first lead().
  void set_successors(Successors* successors) { successors_ = successors; }
  uint32_t calls_in_flight() const { return calls_.in_flight(); }
  uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }

  // ---- led by the threads that wait for events (host/queue_poller.h), in place of lead()
  // Before the first turn, and before any call.
  void lead_by_queues() {
    lead_taken_.store(false, std::memory_order_relaxed);
    inbox_.set_owner(this);
  }
  // One thread at a time, the one that has the turn. Serves until there is nothing to do or `queue` (may be null) has
  // something; when to look again at the latest.
  int64_t serve_turn(const EventQueue* queue);
  template <typename Ready>
  void wait_for_work(Ready&& ready, int64_t deadline_ns) {
    waiter_.wait(
        [&] { return ready() || gone() || deadline_changed_.load(std::memory_order_acquire) || anything_to_do(); },
        deadline_ns);
  }
  // Any thread.
  void wake_sleeper() { wake_worker(*shared_); }
  bool gone() const { return link_->gone.load(std::memory_order_acquire); }
  // The engine is gone, and no call is left: the Worker may be freed.
  bool over() const { return gone() && calls_in_flight() == 0 && !inbox_.posting(); }
  // Asynchronous calls that the application has and has not ended. Included in calls_in_flight.
  uint32_t asynchronous_calls() const { return asynchronous_.bound_calls(); }

  static constexpr int kRoundSlots = 64;
  static constexpr uint32_t kHeadersBit = Answers::kHeadersBit;

 private:
  // Each returns false if the lead was lost.
  bool round(bool* worked);
  bool serve_channel(uint32_t engine_thread, bool* worked);
  bool serve_slot(uint32_t engine_thread, const Slot& slot);
  bool serve_inbox(bool* worked);
  bool serve_event(CallEvent& event);
  bool serve_deferred() override;
  bool start_call(uint32_t engine_thread, const CallSlot& slot);
  bool run_unary(Call* call);
  bool run_handler(Call* call);
  bool intercept_call(Call* call);
  bool start_or_hold(Call* call);
  bool start_now(Call* call);
  bool start_held(bool* worked);
  bool cancel(Call* call) { return answers_.cancel(call); }
  bool scan_for_cancelled();
  bool complete(Call* call) override { return answers_.complete(call); }
  bool run_done(Call* call) override { return answers_.run_done(call); }
  void kick() override;
  void unlock_lead();

  // ---- for streams
  void push(uint32_t engine_thread, const Slot& slot) override { channels_.push(engine_thread, slot); }
  uint64_t begin_application(Call* call) override;
  bool end_application(uint64_t phase) override;
  bool leads(uint64_t odd_phase) const override { return phase() == odd_phase; }
  bool enter(uint64_t odd_phase) override { return phase_.enter(odd_phase); }
  void leave(uint64_t odd_phase) override { phase_.leave(odd_phase); }
  bool lead_while(const std::function<bool()>& ready, int64_t deadline_ns) override;
  void hand_over(uint64_t odd_phase) override {
    if (successors_ != nullptr) successors_->hand_over(*this, odd_phase);
  }
  Streams& streams() override { return streams_; }
  void ring_bells() override { channels_.ring_bells(); }
  void recycle_if_over(Call* call) override { answers_.recycle_if_over(call); }
  bool serve_quietly(bool* worked);

  bool read_call(const CallSlot& slot, Call* call);
  void release(uint32_t tx_call);
  bool anything_to_do() const;
  int64_t next_deadline() const;
  const std::shared_ptr<EngineLink> link_;
  WorkerShared* const shared_;
  WorkerWaiter waiter_;
  alignas(64) CallInbox inbox_;  // other threads write to it: away from what only the leader uses
  LeadPhase phase_{inbox_};
  EngineChannels channels_;
  CallPool calls_;
  Streams streams_;
  AsyncCalls asynchronous_;
  Answers answers_;
  std::deque<Call*> held_;       // synchronous calls that wait until fewer handlers block
  Call* interrupted_ = nullptr;  // of a stream, whose code runs or ran on the thread that led before
  Slot deferred_slot_{};         // taken by a thread that could not serve it, if has_deferred_
  uint32_t deferred_thread_ = 0;
  bool has_deferred_ = false;
  Successors* successors_ = nullptr;
  CallEvent* inbox_taken_ = nullptr;  // taken from inbox_, in order, not yet served
  bool scan_underway_ = false;        // a pass of scan_for_cancelled was begun and not finished

  // Taken by a thread in lead(), all the time; else by the thread that serves calls, for a moment.
  std::atomic<bool> lead_taken_{true};
  std::atomic<bool> deadline_changed_{false};  // since the turn whose thread sleeps
  std::atomic<bool> hold_handlers_{false};
  std::atomic<uint64_t> sleeps_{0};
};

}  // namespace drover::host
