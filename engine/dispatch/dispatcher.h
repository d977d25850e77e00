// Dispatcher: one engine thread's calls, from the client's request to the host's answer, and what happens when time,
// memory or a host runs out. It takes requests to workers; the rest is its collaborators':
//
//   open         RouteTable       (listener, path) -> Route           unknown: kUnimplemented
//   message      WorkerChoice     Route -> worker                     no host or no room: Calls::wait, at most wait_ns
//                HostChoice       Route, key -> host, where a rule says so
//                build_request    wire bytes -> object in rx -> CALL
//                LongParses       the same of large ones, in slices of several turns
//   poll         HostTurns        whose responses are taken, and for how long
//                HostResponses    COMPLETE -> object in tx -> wire bytes -> ReplySink
//                Hosts            hosts that come, drain, fail and go
//                LineSwitch       RPC lines from one host to another
//                RemoteLines      RPC lines from and to hosts of other engines
//   reply_sent   Calls            tx memory goes back by RELEASE, rx memory is free
//
// A call ends exactly once towards the client, for any behaviour of the host: with its answer, kDeadlineExceeded,
// kUnavailable (its process ended), kInternal (its answer is invalid), kResourceExhausted (no room in time). Memory
// that a host may still touch stays in place until the host has said that it is finished, or is gone.
//
// Streams: StreamRequests takes messages to the worker that has the call, HostResponses takes them from there. Those of
// server reflection have no worker: ReflectionCalls answers them.
//
// Thread-safety: everything on the engine thread, closures from other threads through its event loop. Threads share
// nothing but the HostAttachment. In the steady state no call takes a lock or allocates from the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/balance/balance_rules.h"
#include "engine/base/metrics.h"
#include "engine/call/call.h"
#include "engine/dispatch/calls.h"
#include "engine/dispatch/channelz_calls.h"
#include "engine/dispatch/engine_threads.h"
#include "engine/dispatch/host_choice.h"
#include "engine/dispatch/host_events.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/host_responses.h"
#include "engine/dispatch/host_turns.h"
#include "engine/dispatch/hosts.h"
#include "engine/dispatch/line_request.h"
#include "engine/dispatch/reflection_calls.h"
#include "engine/dispatch/reply_memory.h"
#include "engine/dispatch/request_builder.h"
#include "engine/dispatch/response_reader.h"
#include "engine/dispatch/route_changes.h"
#include "engine/dispatch/route_table.h"
#include "engine/dispatch/stream_requests.h"
#include "engine/dispatch/worker_choice.h"
#include "engine/net/pollable.h"

namespace drover::engine {

class Io;
class RemoteLines;
struct RemoteOptions;

struct DispatchOptions {
  WorkerChoice::Policy policy = WorkerChoice::Policy::kRoundRobin;
  int64_t wait_ns = 5'000'000'000;        // how long a call waits for a host or for room
  uint32_t max_waiting = 10'000;          // calls that wait, on this thread
  size_t max_waiting_bytes = 256u << 20;  // of requests on the heap while their calls wait or are received
  uint32_t max_request_bytes = 4u << 20;
  size_t max_reply_bytes = 128u << 20;   // heap memory of all encoded replies that wait for their clients
  uint32_t engine_threads = 1;           // of the engine, each with a Dispatcher
  uint32_t max_line_connections = 1024;  // LineSwitchOptions::max_connections
  LongParses::Options parses;
  ResponseReader::Options responses;
  std::shared_ptr<const BalanceRules> balance = std::make_shared<const BalanceRules>();
};

// Between the engine threads' ChannelzCalls.
class ChannelzPosts final : public ChannelzThreads {
 public:
  explicit ChannelzPosts(EngineThreads& threads) : threads_(threads) {}
  uint32_t count() const override { return threads_.count(); }
  void post(uint32_t thread, std::function<void(ChannelzCalls&)> work) override;

 private:
  EngineThreads& threads_;
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
  void expect(uint32_t listener, RouteChanges::Methods methods) { hosts_.expect(listener, std::move(methods)); }
  void expect(uint32_t listener, std::vector<ExpectedMethod> methods) {
    expect(listener, std::make_shared<const std::vector<ExpectedMethod>>(std::move(methods)));
  }
  // The listener is closed or was never opened, its id will not be used again, and no attached host names it. Further
  // calls on its connections end in UNAVAILABLE.
  void forget_listener(uint32_t listener) { hosts_.forget_listener(listener); }
  // Calls may go to this host from now on, method by method; host_attached follows when that is true of all. As the
  // other changes of hosts, it takes effect within a few turns if the host has many methods.
  void attach(std::shared_ptr<const HostAttachment> host) { hosts_.attach(std::move(host)); }
  // Its calls end in UNAVAILABLE, 256 at once and further ones a turn; calls that wait go on waiting for another host.
  // host_let_go follows, also for an id that is not known; asking again does no harm.
  void detach(uint64_t host) { hosts_.detach(host); }
  // No new calls; host_drained follows once the running ones have ended.
  void drain(uint64_t host) { hosts_.drain(host); }
  // Tells all hosts that the engine takes no new calls (it is going down); running calls end as usual.
  void drain_all() { hosts_.drain_all(); }

  // Opens a connection of RPC lines between two workers, or a worker and another engine; connection_opened follows.
  void connect(const LineRequest& request);
  // Before the first poll: links to other engines, through sockets in `io`. False: `error` says why not.
  bool open_network(const RemoteOptions& options, Io& io, std::string* error);
  const RemoteLines* network() const { return remote_.get(); }  // null: no network
  // Before the first poll: channelz is offered where hosts ask for it. `sockets` and `threads` outlive the dispatcher;
  // `threads`: null, there is this one alone. All threads or none have it.
  void offer_channelz(ChannelzScope scope, const SocketView& sockets, EngineThreads* threads);
  ChannelzCalls* channelz() { return channelz_.get(); }  // null: it is not offered

  // ---- CallSink
  Status open(Call& call) override;
  void start(Call& call) override;
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
  void rung() override { rung_ = true; }
  int64_t next_timer_ns() const override;
  int wake_fd() const override { return links_.wake_fd(); }

  // For tests and logs.
  uint32_t calls() const { return calls_.size(); }
  uint32_t waiting_calls() const { return calls_.waiting(); }
  size_t hosts() const { return links_.attached().size(); }
  size_t routes() const { return routes_.size(); }
  const RouteChanges& changes() const { return hosts_.changes(); }
  size_t reply_bytes() const { return reply_memory_.bytes(); }
  const LongParses& parses() const { return calls_.parses(); }
  uint64_t line_connections() const { return lines_.connections(); }

 private:
  CallState& state_of(const Call& call) const { return *static_cast<CallState*>(call.dispatch); }

  WorkerChoice::Choice choose(CallState& state, std::string_view wire, uint32_t wanted_chunks, bool arriving = false);
  // True: a worker has the call, or it was answered with an error. False: no host, or no room.
  bool try_start(CallState& state, std::string_view wire);
  bool try_start_stream(CallState& state);
  bool start_long(CallState& state, const WorkerChoice::Choice& choice, std::string_view wire, bool alias);
  bool start_built(CallState& state, const WorkerChoice::Choice& choice, BuiltRequest built);
  bool finish_long(CallState& state, LongParse& parse);
  bool parsed(CallState& state, LongParse& parse);
  bool choose_elsewhere(CallState& state, size_t bytes, WorkerChoice::Choice* choice);
  WaitingCalls::Offered start_waiting(CallState& state);
  void take_over(CallState& state, const WorkerChoice::Choice& choice, const BuiltRequest& built);
  bool refuse(CallState& state, HostLink& link, const BuiltRequest& built);
  EngineService* engine_service(uint32_t listener, std::string_view path, Route** route);
  bool serve_hosts();
  bool line_comes() const;
  void update_metrics(int64_t now_ns);
  void awake();

  const uint32_t thread_;
  HostEvents* const events_;
  ReplySink& replies_;
  ThreadMetrics& metrics_;
  const uint32_t max_request_bytes_;
  const int64_t wait_ns_;
  const std::shared_ptr<const BalanceRules> balance_;
  RouteTable routes_;
  const WorkerChoice workers_;
  HostChoice host_choice_;
  ReplyMemory reply_memory_;
  HostLinks links_;
  Calls calls_;
  StreamRequests requests_;
  ReflectionCalls reflection_;
  std::unique_ptr<ChannelzPosts> channelz_posts_;
  std::unique_ptr<ChannelzCalls> channelz_;
  HostLines lines_;
  HostResponses responses_;
  Hosts hosts_;
  HostTurns turns_;
  std::unique_ptr<RemoteLines> remote_;

  bool looking_ = false;  // before sleep: it is announced, and not all lanes have been looked at
  bool rung_ = false;     // by a host, since prepare_to_sleep
  int64_t next_metrics_ns_ = 0;
  Gauge* waiting_gauge_;
  Gauge* reply_bytes_gauge_;
  Counter* long_requests_;
};

}  // namespace drover::engine
