// Calls: the calls of one engine thread, from open until neither the transport nor a host needs them. What a call
// holds, it takes and gives back here: its place in the table, its timer, the memory of its request, its host's memory,
// the reply's buffers, and what it is charged with.
//
//   begin --> kReceiving --------------> started --> kRunning --> replied --> kReplied --> over --> kOver --> free
//                  |                        ^            |                       ^
//                  |--> wait --> kWaiting --|            |                       |
//                  |--> parsing --> kParsing'            |                       |
//                  '--------------'----------------------'--> fail, deadline ----'
//
// A call ends exactly once towards the client: by replied() or by fail(), which does nothing once it has ended. Memory
// that a host may still touch stays in place until the host has completed and finished the call, or is gone.
// Thread-safety: none; one engine thread. In the steady state nothing here allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "channel/layout.h"
#include "codec/compiler.h"
#include "engine/base/clock.h"
#include "engine/base/timer_wheel.h"
#include "engine/call/call.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/host_link.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/long_parses.h"
#include "engine/dispatch/reply_memory.h"
#include "engine/dispatch/request_memory.h"
#include "engine/dispatch/route_table.h"
#include "engine/dispatch/stream_state.h"
#include "engine/dispatch/waiting_calls.h"

namespace drover::engine {

class Calls {
 public:
  struct Options {
    int64_t wait_ns;           // how long a call waits for a host or for room
    uint32_t max_waiting;      // calls that wait
    size_t max_waiting_bytes;  // of requests on the heap while their calls wait or are received
    LongParses::Options parses = {};
  };
  static constexpr int64_t kServeNs = 500'000;  // of a turn, for calls that have waited
  static constexpr std::string_view kNoMemory = "the engine has no memory for the call";

  // All of them outlive it.
  Calls(const Options& options, ReplySink& replies, RouteTable& routes, HostLinks& links, ReplyMemory& reply_memory);
  // The transport is gone by now, and with it every Call.
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // As of the last turn.
  int64_t now_ns() const { return now_ns_; }
  void set_now(int64_t now_ns) { now_ns_ = now_ns; }

  uint32_t size() const { return table_.in_use(); }
  uint32_t waiting() const { return waiting_.size(); }
  CallState* find(uint32_t index, uint32_t generation) { return table_.find(index, generation); }

  // ---- a call's life
  // Null: its account has too many calls. Throws std::bad_alloc.
  CallState* begin(Call& call, Route& route);
  // After begin, of a method that streams. Throws std::bad_alloc.
  void begin_stream(CallState& state);
  // Room for a message of `size` bytes on the heap, of which `least` are wanted now; empty: none.
  std::span<char> heap_buffer(CallState& state, size_t size, size_t least);
  // Keeps the request's bytes, as state.message; what was received into a buffer stays there. False: over a budget.
  bool keep_message(CallState& state, std::string_view wire);
  // The request is parsed in slices from now on: parses() has it.
  void parsing(CallState& state);
  LongParses& parses() { return parses_; }
  const LongParses& parses() const { return parses_; }
  // Whether the call may be started at once, or else is to wait(): see WaitingCalls.
  bool may_start(const CallState& state) const { return waiting_.may_start(state); }
  // Keeps the request's bytes and queues the call behind its route.
  void wait(CallState& state, std::string_view wire);
  // A worker of that host runs the call from now on, and the host is pinned for it. True: the call had waited.
  bool started(CallState& state, HostLink& link);
  // The reply goes to the transport now. A message that is still parsed is not wanted any more.
  void replied(CallState& state) {
    drop_parse(state);
    timers_.disarm(state.timer);
    state.phase = CallState::Phase::kReplied;
  }
  // The transport has let go of the call.
  void over(CallState& state) {
    state.call = nullptr;
    state.phase = CallState::Phase::kOver;
    settle_over(state);
  }
  // The client has left: the transport lets go of the call before its end.
  void abandon(CallState& state);
  // Ends the call towards the client with an error. `state` may be free when this returns.
  void fail(CallState& state, StatusCode code, std::string_view message);
  // The same, of a call that a host may be running: the host is told to cancel it.
  void fail_running(CallState& state, StatusCode code, std::string_view message);
  // Its host is gone and sends nothing any more: a running call is answered, and one that waited only for the host's
  // slots is over. `cut_off`: also ends a reply that may refer to the host's memory.
  void host_gone(CallState& state, bool cut_off);
  // Call after any step that may have removed the last reason to keep memory or the state itself.
  DROVER_INLINE void settle(CallState& state) {
    if (state.phase == CallState::Phase::kOver) return settle_over(state);
    if (state.phase == CallState::Phase::kReplied && state.owed == 0) let_go_of_host(state);
  }

  // ---- what it holds
  void pin(CallState& state, HostLink& link) {
    state.host = &link;
    link.calls.push(state);
  }
  // The call's request holds about so many bytes of the host's rx now, which RxShares counts where it must. Throws
  // std::bad_alloc if it is more than before; then it holds as much as before, at that host.
  static void hold_rx(CallState& state, HostLink& link, size_t bytes);
  // Whether the client's requests hold so much of the host's rx that a further one, or a message, of so many bytes
  // waits until they are over (RxShares). Then the call has wanted_chunks.
  static DROVER_INLINE bool holds_its_share(CallState& state, HostLink& link, size_t bytes) {
    return !link.rx_shares.empty() && wait_for_share(state, link, bytes);
  }
  // Frees the request's wire bytes, if they are on the heap or in rx memory of a call that no host has.
  void let_go_of_message(CallState& state);
  // The reply's buffers, and what they are charged with.
  void drop_reply(CallState& state);

  // ---- streams
  // Wire bytes of request messages that wait. False: over a budget.
  bool hold_input(CallState& state, size_t bytes) { return requests_.hold(state.payer, bytes); }
  void let_go_of_input(CallState& state, size_t bytes) { requests_.let_go(state.payer, bytes); }
  // The path of a call whose host is to be told of it. False: over a budget.
  bool keep_path(CallState& state, std::string_view path);
  void drop_path(CallState& state);
  // The call's reply is one of its steps from now on, which the transport refers to. Throws std::bad_alloc; then
  // nothing has changed.
  StreamState::Step& keep_step(CallState& state, uint32_t tx_call);
  // The transport needs the oldest step no more, or has copied the newest.
  void step_sent(CallState& state) { end_step(state, state.stream->steps.pop()); }
  void step_copied(CallState& state) { end_step(state, state.stream->steps.pop_back()); }
  // Sends the engine's own answer, as a message of the reply. False: the call has ended, and `state` may be free.
  bool send_answer(CallState& state, std::unique_ptr<EngineAnswer> answer);
  // The transport needs it no more.
  void drop_answer(CallState& state);
  // The host has finished a call of a stream: it looks at no message again.
  static void free_messages(CallState& state);

  // ---- turns
  // Ends calls whose time is over, 256 a turn. True: any.
  bool expire();
  // Offers calls that wait to start(CallState&), as WaitingCalls::serve does, for kServeNs at most. A call for
  // which start() finds no memory fails.
  template <typename Start>
  bool serve_waiting(Start start) {
    return waiting_.size() != 0 && waiting_.serve(monotonic_ns() + kServeNs, [this, &start](CallState& state) {
      try {
        return start(state);
      } catch (const std::bad_alloc&) {
        fail(state, StatusCode::kResourceExhausted, kNoMemory);
        return WaitingCalls::Offered::kTaken;
      }
    });
  }
  // When expire() or serve_waiting() has something to do at the latest.
  int64_t next_ns() const;
  // Now and then; may take time that grows with size().
  void shrink() { table_.shrink(); }

 private:
  bool keep_answer(CallState& state, std::unique_ptr<EngineAnswer> answer);
  void arm(CallState& state, int64_t when_ns) {
    if (when_ns != kNoDeadline) timers_.arm(state.timer, when_ns);
  }
  void cancel(CallState& state, CancelReason reason);
  void leave_waiting(CallState& state);
  void expire(CallState& state);
  void end_waiting(CallState& state);
  void let_go_of_host(CallState& state) {
    if (state.host != nullptr) [[likely]]
      unpin(state);
  }
  void unpin(CallState& state);
  static void let_go_of_rx(CallState& state) {
    if (state.rx_holder != nullptr) [[unlikely]]
      drop_rx(state);
  }
  static void drop_rx(CallState& state);
  // The parse may be the last reason why that host is kept.
  void drop_parse(CallState& state) {
    if (state.parse == nullptr) [[likely]]
      return;
    if (state.rx_holder != state.host) let_go_of_rx(state);
    parses_.drop(state);
  }
  static bool wait_for_share(CallState& state, HostLink& link, size_t bytes);
  void settle_over(CallState& state);
  void release_charges(CallState& state);
  void drop_stream(CallState& state);
  void drop_input(CallState& state);
  void end_step(CallState& state, StreamState::Step step);
  void recycle_stream(CallState& state);
  void drop_step(CallState& state, StreamState::Step step);

  const Options options_;
  ReplySink& replies_;
  RouteTable& routes_;
  HostLinks& links_;
  ReplyMemory& reply_memory_;
  int64_t now_ns_;

  CallTable table_;
  TimerWheel timers_;
  RequestMemory requests_;
  WaitingCalls waiting_;
  LongParses parses_;
  std::vector<std::unique_ptr<StreamState>> spare_streams_;
};

// ---- on the way of every call

DROVER_INLINE CallState* Calls::begin(Call& call, Route& route) {
  table_.reserve();  // the last step that may fail for want of memory
  // Also calls that the client has left and that a host still runs.
  if (call.account != nullptr && !call.account->enter_call()) [[unlikely]]
    return nullptr;
  CallState& state = table_.take();
  state.payer = call.account;
  state.call = &call;
  state.route = &route;
  RouteTable::enter(route);
  call.dispatch = &state;
  if (call.deadline_ns != kNoDeadline) {
    timers_.catch_up(call.start_ns);
    arm(state, call.deadline_ns);
  }
  return &state;
}

inline bool Calls::started(CallState& state, HostLink& link) {
  const bool waited = state.phase == CallState::Phase::kWaiting || state.phase == CallState::Phase::kParsing;
  if (waited) [[unlikely]]
    leave_waiting(state);
  if (state.host == &link) {  // its message lies there, and strings may refer to it
    state.message = nullptr;
    state.message_size = 0;
  } else {
    if (state.message != nullptr) [[unlikely]] {
      requests_.release(state);
      let_go_of_host(state);
    }
    pin(state, link);
  }
  state.phase = CallState::Phase::kRunning;
  state.owed = CallState::kComplete | CallState::kFinished;
  return waited;
}

}  // namespace drover::engine
