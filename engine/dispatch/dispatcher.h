// Dispatcher: one engine thread's calls, from the client's request to the host's answer, and what happens when time,
// memory or a host runs out. It owns the life of a call; each step is a collaborator's:
//
//   open         RouteTable       (listener, path) -> Route           unknown: kUnimplemented
//   message      WorkerChoice     Route -> worker                     no host or no room: WaitingCalls, at most wait_ns
//                build_request    wire bytes -> object in rx -> CALL
//   poll         HostTurns        whose responses are taken, and for how long
//                ResponseReader   COMPLETE -> object in tx -> wire bytes -> ReplySink
//   reply_sent   tx memory goes back by RELEASE, rx memory is free
//
// A call ends exactly once towards the client, for any behaviour of the host: with its answer, kDeadlineExceeded,
// kUnavailable (its process ended), kInternal (its answer is invalid), kResourceExhausted (no room in time). Memory
// that a host may still touch stays in place until the host has said that it is finished, or is gone.
//
// Methods are unary: a second request message, or none, ends the call with kInternal.
//
// Thread-safety: everything on the engine thread, closures from other threads through its event loop. Threads share
// nothing but the HostAttachment. In the steady state no call takes a lock or allocates from the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "channel/layout.h"
#include "engine/base/metrics.h"
#include "engine/base/timer_wheel.h"
#include "engine/call/call.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/host_link.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/host_turns.h"
#include "engine/dispatch/request_builder.h"
#include "engine/dispatch/request_memory.h"
#include "engine/dispatch/response_reader.h"
#include "engine/dispatch/route_changes.h"
#include "engine/dispatch/route_table.h"
#include "engine/dispatch/waiting_calls.h"
#include "engine/dispatch/worker_choice.h"
#include "engine/net/pollable.h"

namespace drover::engine {

struct DispatchOptions {
  WorkerChoice::Policy policy = WorkerChoice::Policy::kRoundRobin;
  int64_t wait_ns = 5'000'000'000;        // how long a call waits for a host or for room
  uint32_t max_waiting = 10'000;          // calls that wait, on this thread
  size_t max_waiting_bytes = 256u << 20;  // of requests on the heap while their calls wait or are received
  uint32_t max_request_bytes = 4u << 20;
  ResponseReader::Options responses;
};

// What engine threads tell the control server. Called on an engine thread; must not block.
class HostEvents {
 public:
  // Calls of all its methods may go to the host on this thread.
  virtual void host_attached(uint64_t host, uint32_t thread) = 0;
  // The host violated the channel's rules: detach it everywhere.
  virtual void host_failed(uint64_t host, uint32_t thread, std::string why) = 0;
  // A draining host has no calls left on this thread; `calls_ended`: how many it completed here in its life.
  virtual void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) = 0;
  // After detach: nothing on this thread refers to the host's memory any more.
  virtual void host_let_go(uint64_t host, uint32_t thread) = 0;

 protected:
  ~HostEvents() = default;
};

class Dispatcher final : public CallSink, public Pollable {
 public:
  // `events` may be null (events are dropped); otherwise it outlives the Dispatcher.
  Dispatcher(uint32_t thread, ReplySink& replies, ThreadMetrics& metrics, const DispatchOptions& options,
             HostEvents* events);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // ---- hosts
  // Calls of these methods wait for a host that is about to come, instead of being unknown.
  void expect(uint32_t listener, RouteChanges::Paths paths);
  void expect(uint32_t listener, std::vector<std::string> paths) {
    expect(listener, std::make_shared<const std::vector<std::string>>(std::move(paths)));
  }
  // The listener is closed or was never opened, its id will not be used again, and no attached host names it. Further
  // calls on its connections end in UNAVAILABLE.
  void forget_listener(uint32_t listener);
  // Calls may go to this host from now on, method by method; host_attached follows when that is true of all. As the
  // other changes of hosts, it takes effect within a few turns if the host has many methods.
  void attach(std::shared_ptr<const HostAttachment> host);
  // Its calls end in UNAVAILABLE at once; calls that wait go on waiting for another host. host_let_go
  // follows, also for an id that is not known; asking again does no harm.
  void detach(uint64_t host);
  // No new calls; host_drained follows once the running ones have ended.
  void drain(uint64_t host);
  // Tells all hosts that the engine takes no new calls (it is going down); running calls end as usual.
  void drain_all();

  // ---- CallSink
  Status open(Call& call) override;
  std::span<char> message_buffer(Call& call, size_t size, size_t received) override;
  bool waits(const Call& call) const override;
  void message(Call& call, std::string_view wire, More more) override;
  void half_close(Call& call) override;
  void abandon(Call& call) override;
  void reply_sent(Call& call) override;

  // ---- Pollable
  bool poll(int64_t now_ns) override;
  bool prepare_to_sleep() override;
  void woke_up() override;
  int64_t next_timer_ns() const override;
  int wake_fd() const override { return links_.wake_fd(); }

  // For tests and logs.
  uint32_t calls() const { return table_.in_use(); }
  uint32_t waiting_calls() const { return waiting_.size(); }
  size_t hosts() const { return links_.attached().size(); }
  size_t routes() const { return routes_.size(); }
  const RouteChanges& changes() const { return changes_; }
  size_t reply_bytes() const { return responses_.memory().bytes(); }

 private:
  static constexpr std::string_view kNoMemory = "the engine has no memory for the call";
  static constexpr int64_t kGonePatienceNs = 5'000'000'000;  // replies may refer to the memory of a host that has gone

  CallState& state_of(const Call& call) const { return *static_cast<CallState*>(call.dispatch); }

  std::span<char> heap_buffer(CallState& state, size_t size, size_t least);

  // ---- from a request to a worker
  // True: a worker has the call, or it was answered with an error. False: no host, or no room.
  bool try_start(CallState& state, std::string_view wire);
  void start(CallState& state, const WorkerChoice::Choice& choice, const BuiltRequest& built);
  bool refuse(CallState& state, HostLink& link, const BuiltRequest& built);
  void wait(CallState& state, std::string_view wire);

  // ---- what hosts send
  // The functions that take a slot return since when its answer took long, or 0 (ResponseReader::Answer).
  Served serve(HostLink& link, int64_t budget_ns);
  bool take_from(HostLink& link, uint32_t worker, TurnBudget& budget, bool* did);
  int64_t take_slot(HostLink& link, uint32_t worker, const Slot& slot);
  int64_t complete(HostLink& link, uint32_t worker, const CompleteSlot& slot);
  void finished(HostLink& link, uint32_t worker, const FinishedSlot& slot);
  int64_t answer(CallState& state, const CompleteSlot& slot);
  int64_t give(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer, int64_t until_ns);
  void deliver(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer);
  void fail_for_memory(CallState& state, const CompleteSlot& slot);
  bool charge_reply(CallState& state, ResponseReader::Answer& answer);
  bool copy_reply(CallState& state, ResponseReader::Answer& answer);
  ResponseReader::Answer refuse_reply(CallState& state);
  void drop_reply(CallState& state);
  void put_off(CallState& state, const CompleteSlot& slot);
  CallState* put_off_call(HostLink& link, const CompleteSlot& slot);
  bool go_on_with_long(HostLink& link, TurnBudget& budget);
  bool retry_postponed(HostLink& link, TurnBudget& budget);
  void retry(CallState& state, const HostLink::Postponed& postponed, bool late);

  // ---- hosts
  Status unknown(const Call& call) const;
  void leave_routes(HostLink& link);
  void change_routes();
  void unpinned(HostLink& link);
  void end_calls_of(HostLink& link);
  void cut_off_replies_of_gone();
  void report_failed_and_drained();
  void update_metrics();

  // ---- time and the end of a call
  void arm(CallState& state, int64_t when_ns);
  void expire(CallState& state);
  void end_waiting(CallState& state);
  void fail(CallState& state, StatusCode code, std::string_view message);
  void settle(CallState& state);
  void let_go_of_message(CallState& state);
  void let_go_of_host(CallState& state);
  void pin(CallState& state, HostLink& link);

  const uint32_t thread_;
  ReplySink& replies_;
  ThreadMetrics& metrics_;
  const DispatchOptions options_;
  HostEvents* events_;
  int64_t now_ns_;  // as of the last poll

  CallTable table_;
  TimerWheel timers_;
  RouteTable routes_;
  RouteChanges changes_;
  uint32_t changes_left_ = RouteChanges::kRoutesPerTurn;  // of this turn
  const WorkerChoice workers_;
  RequestMemory requests_;
  ResponseReader responses_;
  WaitingCalls waiting_;
  HostLinks links_;
  HostTurns turns_;
  bool draining_ = false;

  int64_t next_metrics_ns_ = 0;
  size_t most_routes_ = 0;  // lately
  Gauge* waiting_gauge_;
  Counter* host_failures_;
  Gauge* reply_bytes_gauge_;
  Gauge* routes_gauge_;
  Counter* long_answers_;
  Counter* postponed_;
  Counter* refused_;
};

}  // namespace drover::engine
