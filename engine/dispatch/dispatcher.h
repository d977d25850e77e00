// Dispatcher: one engine thread's side of calls: which host and worker gets one, its request as an object in the
// region, its response back as wire bytes, and what happens when time, memory or a host runs out.
//
//   begin_call        route by (listener, path)                     unknown: UNIMPLEMENTED
//   request_complete  choose a worker -> decode into rx -> CALL     no host or no room: wait, at most wait_ns
//   poll              COMPLETE -> encode from tx -> ReplySink
//   reply_sent        tx memory goes back by RELEASE, rx memory is free
//
// A call ends exactly once towards the client, whatever the host does: with its answer, DEADLINE_EXCEEDED,
// UNAVAILABLE (its process ended), INTERNAL (its answer makes no sense), RESOURCE_EXHAUSTED (no room in time).
// Memory that a host may still touch stays in place until the host has said that it is finished, or is gone.
//
// Thread-safety: everything on the engine thread, closures from other threads through its event loop. Threads share
// nothing but the HostAttachment. In the steady state no call takes a lock or allocates from the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "channel/layout.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "engine/base/metrics.h"
#include "engine/base/timer_wheel.h"
#include "engine/call/call.h"
#include "engine/dispatch/call_records.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/host_link.h"
#include "engine/net/pollable.h"
#include "object/unique_fd.h"

namespace drover::engine {

struct DispatchOptions {
  enum class Balance { kRoundRobin, kLeastOutstanding };
  Balance balance = Balance::kRoundRobin;
  int64_t wait_ns = 5'000'000'000;        // how long a call waits for a host or for room
  uint32_t max_waiting = 10'000;          // calls that wait, on this thread
  size_t max_waiting_bytes = 256u << 20;  // of requests on the heap while their calls wait or are received
  uint32_t max_request_bytes = 4u << 20;
  size_t max_response_bytes = 0x7fffffff;
};

// What engine threads tell the control server. Called on an engine thread; must not block.
class HostEvents {
 public:
  // The host broke the channel's rules: detach it everywhere.
  virtual void host_failed(uint64_t host, uint32_t thread, std::string why) = 0;
  // A draining host has no calls left on this thread; `calls_ended`: how many it completed here in its life.
  virtual void host_drained(uint64_t host, uint32_t thread, uint64_t calls_ended) = 0;
  // After detach: nothing on this thread refers to the host's memory any more.
  virtual void host_let_go(uint64_t host, uint32_t thread) = 0;

 protected:
  ~HostEvents() = default;
};

// One (listener, path): the hosts that serve it, and the calls that wait for one. Lives as long as its listener, so
// that a method whose host has died is not mistaken for an unknown one.
struct Route {
  struct Target {
    HostLink* link;
    uint32_t method;
  };
  std::string path;
  uint32_t listener = 0;
  uint64_t hash = 0;
  std::vector<Target> targets;
  uint32_t cursor = 0;  // round robin over all targets' workers
  MethodMetrics* metrics = nullptr;
  CallState* first_waiting = nullptr;
  CallState* last_waiting = nullptr;
};

class Dispatcher final : public CallSink, public Pollable {
 public:
  // `events` may be null (nobody is told); otherwise it outlives the Dispatcher.
  Dispatcher(uint32_t thread, ReplySink& replies, ThreadMetrics& metrics, const DispatchOptions& options,
             HostEvents* events);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // ---- hosts
  // Calls of these methods wait for a host that is about to come, instead of being unknown.
  void expect(uint32_t listener, const std::vector<std::string>& paths);
  // The listener is closed or was never opened, and its id will not be used again; no attached host names it. What its
  // connections still ask for is UNAVAILABLE.
  void forget_listener(uint32_t listener);
  // Calls may go to this host from now on.
  void attach(std::shared_ptr<const HostAttachment> host);
  // Its calls end in UNAVAILABLE at once; calls that wait go on waiting for another host. Unknown ids are ignored.
  void detach(uint64_t host);
  // No new calls; host_drained follows once the running ones have ended.
  void drain(uint64_t host);
  // Tells all hosts that the engine takes no new calls (it is going down); running calls end as usual.
  void drain_all();

  // ---- CallSink
  Start begin_call(Call& call) override;
  char* message_buffer(Call& call, size_t size) override;
  bool hold_window(const Call& call) const override;
  void request_complete(Call& call, std::string_view wire) override;
  void abandon(Call& call) override;
  void reply_sent(Call& call) override;

  // ---- Pollable
  bool poll(int64_t now_ns) override;
  bool prepare_to_sleep() override;
  void woke_up() override;
  int64_t next_timer_ns() const override;
  // An epoll descriptor that holds one eventfd for each host, so that a host that was detached can ring no more. Each
  // ring is an edge: register it edge-triggered; it is never read.
  int wake_fd() const override { return wake_.get(); }

  // For tests and logs.
  uint32_t calls() const { return table_.in_use(); }
  uint32_t waiting_calls() const { return waiting_; }
  size_t hosts() const { return links_.size(); }
  size_t routes() const { return routes_.size(); }

 private:
  enum class Outcome { kDone, kNoHost, kNoRoom };
  struct Choice {
    HostLink* link = nullptr;
    uint32_t method = 0;
    uint32_t worker = 0;
    Outcome outcome = Outcome::kDone;
  };

  // dispatcher.cc: the life of a call
  CallState& state_of(const Call& call) const { return *static_cast<CallState*>(call.dispatch); }
  void wait(CallState& state, std::string_view wire);
  void stop_waiting(CallState& state);
  bool serve_waiting();
  void expire(CallState& state);
  void fail(CallState& state, GrpcCode code, std::string_view message);
  void end_waiting(CallState& state);
  void arm(CallState& state, int64_t when_ns);
  void settle(CallState& state);
  void let_go_of_message(CallState& state);
  void let_go_of_host(CallState& state);
  void pin(CallState& state, HostLink& link);
  void drop_link(HostLink* link);

  // dispatcher_request.cc: routing and requests
  Route* find_route(uint32_t listener, std::string_view path);
  Route* make_route(uint32_t listener, const std::string& path);
  void insert_route(Route* route);
  Start unknown_method(std::string_view path, uint32_t listener) const;
  Choice choose(Route& route, const CallState& state, uint32_t wanted_chunks);
  Choice round_robin(Route& route, std::span<const Route::Target> targets, uint32_t wanted_chunks);
  Choice least_outstanding(Route& route, std::span<const Route::Target> targets, uint32_t wanted_chunks);
  void started(CallState& state, const Choice& choice, ChunkRun run, const RunList& more, CallSlot& slot);
  Outcome try_start(CallState& state, std::string_view wire);
  struct Built {
    DecodeResult decoded;
    bool missing_required = false;
    bool no_memory = false;
    bool try_again = false;  // with no_memory: the wire bytes are as they were
  };
  Built build_request(CallState& state, HostLink& link, const HostMethod& method, std::string_view wire, ChunkRun* run,
                      RunList* more, CallSlot* slot);
  bool heap_buffer(CallState& state, size_t size);

  // dispatcher_response.cc: responses and hosts
  bool take_responses(HostLink& link);
  void take_slot(HostLink& link, uint32_t worker, const Slot& slot);
  void complete(HostLink& link, uint32_t worker, const CompleteSlot& slot);
  void finished(HostLink& link, uint32_t worker, const FinishedSlot& slot);
  void answer(CallState& state, const CompleteSlot& slot);
  void send_answer(CallState& state, uint32_t tx_call, const Reply& reply, bool lent);
  void end_calls_of(HostLink& link);
  void report_failed_and_drained();
  HostLink* find_link(uint64_t host);
  Encoded* take_encoded();
  void give_encoded(Encoded* encoded);

  const uint32_t thread_;
  ReplySink& replies_;
  ThreadMetrics& metrics_;
  const DispatchOptions options_;
  HostEvents* events_;
  UniqueFd wake_;
  int64_t now_ns_;  // as of the last poll

  CallTable table_;
  TimerWheel timers_;
  std::vector<std::unique_ptr<HostLink>> links_;  // attached
  std::vector<std::unique_ptr<HostLink>> gone_;   // detached, but their memory is still being sent from
  bool draining_ = false;

  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::unique_ptr<Route>> retired_routes_;  // of forgotten listeners, while calls refer to them
  uint32_t last_forgotten_listener_ = 0;                // ids only grow
  Route* last_route_ = nullptr;
  std::vector<Route*> route_table_;  // open addressing over (listener, path); a power of two
  std::vector<Route*> waiting_routes_;
  uint32_t waiting_ = 0;
  size_t heap_bytes_ = 0;

  std::vector<std::unique_ptr<Encoded>> spare_encoded_;
  Trailer trailer_;  // used again and again
  int64_t next_metrics_ns_ = 0;
  Gauge* waiting_gauge_;
  Counter* host_failures_;
};

}  // namespace drover::engine
