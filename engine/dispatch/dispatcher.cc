// The life of a call: open, waiting, running, replied, over. See dispatcher.h.
#include "engine/dispatch/dispatcher.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/heap.h"

namespace drover::engine {
namespace {

constexpr int64_t kMetricsPeriodNs = 100'000'000;
constexpr uint32_t kIdleLanesPerPeriod = 16;
constexpr size_t kTrimRoutes = 1000;          // so many that went leave memory behind
constexpr int64_t kRetryNs = 1'000'000;       // a full ring does not signal when it drains: look again after this time
constexpr size_t kFirstHeapBytes = 16 << 10;  // of a message that is still arriving; doubled as it comes

}  // namespace

Dispatcher::Dispatcher(uint32_t thread, ReplySink& replies, ThreadMetrics& metrics, const DispatchOptions& options,
                       HostEvents* events)
    : thread_(thread),
      replies_(replies),
      metrics_(metrics),
      options_(options),
      events_(events),
      now_ns_(monotonic_ns()),
      timers_(now_ns_),
      routes_(metrics, options.wait_ns),
      changes_(routes_),
      workers_(options.policy),
      requests_(options.max_waiting_bytes),
      responses_(options.responses),
      links_(thread, metrics),
      waiting_gauge_(metrics.gauge("drover_waiting_calls", "Calls that wait for a host or for room")),
      host_failures_(metrics.counter("drover_host_failures_total", "Hosts detached because they broke the channel")),
      reply_bytes_gauge_(metrics.gauge("drover_reply_bytes", "Engine memory of replies that clients have not read")),
      routes_gauge_(metrics.gauge("drover_routes", "Methods that hosts serve or served lately, at each address")),
      long_answers_(metrics.counter("drover_long_answers_total", "Replies that were encoded in slices of many turns")),
      postponed_(metrics.counter("drover_replies_postponed_total", "Replies that had to wait for engine memory")),
      refused_(metrics.counter("drover_replies_refused_total", "Replies that found no engine memory in time")) {}

// The transport is gone by now, and with it every Call.
Dispatcher::~Dispatcher() {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    timers_.disarm(state.timer);
    if (state.reply != nullptr) responses_.recycle(state);
    if (state.phase != CallState::Phase::kFree && state.payer != nullptr) state.payer->leave_call();
  }
  for (const Gauge* gauge : {waiting_gauge_, reply_bytes_gauge_, routes_gauge_}) metrics_.remove(gauge);
  for (const Counter* counter : {host_failures_, long_answers_, postponed_, refused_}) metrics_.remove(counter);
}

// ---- CallSink

Status Dispatcher::open(Call& call) {
  call.max_request_bytes = options_.max_request_bytes;
  Route* route = routes_.find(call.listener, call.path, call.memo);
  if (route == nullptr) return unknown(call);
  call.metrics = route->metrics;
  if (call.deadline_ns <= call.start_ns) return {StatusCode::kDeadlineExceeded, "the deadline has passed"};
  table_.reserve();  // the last step that may fail for want of memory
  // Also calls that the client has left and that a host still runs.
  if (call.account != nullptr && !call.account->enter_call()) [[unlikely]] {
    return {StatusCode::kResourceExhausted, "too many calls of this client are in progress"};
  }
  CallState& state = table_.take();
  state.payer = call.account;
  state.call = &call;
  state.route = route;
  RouteTable::enter(*route);
  call.dispatch = &state;
  if (call.deadline_ns != kNoDeadline) {
    timers_.catch_up(call.start_ns);
    arm(state, call.deadline_ns);
  }
  return {};
}

std::span<char> Dispatcher::message_buffer(Call& call, size_t size, size_t received) {
  CallState& state = state_of(call);
  if (received != 0) {
    if (received >= size || state.heap_message == nullptr) return {};
    return heap_buffer(state, size, std::min(size, 2 * received));
  }
  if (state.message != nullptr) let_go_of_message(state);
  Route& route = *state.route;
  if (state.phase == CallState::Phase::kReceiving && state.host == nullptr && !route.targets.empty()) {
    uint32_t cursor = route.cursor;
    WorkerChoice::Choice choice = workers_.choose(route, nullptr, ChunkPool::chunks_for(size + 1));
    route.cursor = cursor;  // the worker is chosen when the request is whole
    if (choice.link != nullptr && RequestMemory::in_region(state, *choice.link, size)) {
      pin(state, *choice.link);
      return {state.message, size};
    }
  }
  return heap_buffer(state, size, std::min(size, kFirstHeapBytes));
}

std::span<char> Dispatcher::heap_buffer(CallState& state, size_t size, size_t least) {
  if (!requests_.on_heap(state, size, least)) return {};
  return {state.message, least};
}

bool Dispatcher::waits(const Call& call) const {
  return call.dispatch != nullptr && state_of(call).phase == CallState::Phase::kWaiting;
}

void Dispatcher::message(Call& call, std::string_view wire, More more) {
  CallState& state = state_of(call);
  // Answered while it was being received (deadline passed, host failed): drop the rest.
  if (state.phase != CallState::Phase::kReceiving) return;
  if (more != More::kLast) [[unlikely]] {
    return fail(state, StatusCode::kInternal, "more than one message, or bytes behind the message, in a unary request");
  }
  if (state.message != nullptr) {
    wire = {state.message, state.message_size};
    RequestMemory::arrived(state);
  }
  if (state.route->first_waiting == nullptr && try_start(state, wire)) return;
  wait(state, wire);
}

void Dispatcher::half_close(Call& call) {
  fail(state_of(call), StatusCode::kInternal, "no message in a unary request");
}

void Dispatcher::abandon(Call& call) {
  CallState& state = state_of(call);
  if (state.phase == CallState::Phase::kWaiting) waiting_.remove(state);
  timers_.disarm(state.timer);
  if ((state.owes_complete || state.owes_finished) && !state.cancelled) {
    state.cancelled = true;
    state.host->cancel(state.lane, state.index, state.generation, CancelReason::kClient);
  }
  reply_sent(call);
}

void Dispatcher::reply_sent(Call& call) {
  CallState& state = state_of(call);
  call.dispatch = nullptr;
  state.call = nullptr;
  state.phase = CallState::Phase::kOver;
  settle(state);
}

// ---- from a request to a worker

bool Dispatcher::try_start(CallState& state, std::string_view wire) {
  WorkerChoice::Choice choice = workers_.choose(*state.route, state.host, std::max(1u, state.wanted_chunks));
  if (choice.found != WorkerChoice::Found::kWorker) return false;
  HostLink& link = *choice.link;
  bool alias = state.host == &link && state.message != nullptr && state.heap_message == nullptr;
  BuiltRequest built = build_request(*state.call, link, link.host().methods[choice.method], wire, alias);
  if (!built.ok()) [[unlikely]]
    return refuse(state, link, built);
  try {
    state.runs.reserve(state.runs.size() + 1 + built.more.size());
  } catch (const std::bad_alloc&) {
    link.rx().free(built.run.offset, built.run.chunks);
    built.more.free_all(link.rx());
    throw;
  }
  start(state, choice, built);
  return true;
}

// As try_start: false if the call may wait for more room.
bool Dispatcher::refuse(CallState& state, HostLink& link, const BuiltRequest& built) {
  if (built.missing_required) {
    fail(state, StatusCode::kInternal, "the request could not be decoded: a required field is missing");
    return true;
  }
  if (!built.no_memory) {
    fail(state, StatusCode::kInternal, "the request could not be decoded: " + to_string(built.decoded));
    return true;
  }
  uint32_t own = 0;
  if (state.host == &link) {
    for (size_t i = 0; i < state.runs.size(); ++i) own += state.runs[i].chunks;
  }
  ChunkPool& pool = link.rx();
  if (!built.try_again || pool.free_chunks() + own == pool.total_chunks()) {
    fail(state, StatusCode::kResourceExhausted, "the request is larger than the service's request memory");
    return true;
  }
  // Not before more memory is free than the amount that was too little.
  state.wanted_chunks = pool.free_chunks() + 1;
  return false;
}

void Dispatcher::start(CallState& state, const WorkerChoice::Choice& choice, const BuiltRequest& built) {
  const bool waited = state.phase == CallState::Phase::kWaiting;
  if (waited) {
    waiting_.remove(state);
    timers_.disarm(state.timer);
    arm(state, state.call->deadline_ns);
  }
  if (state.host == choice.link) {  // its message lies there, and strings may refer to it
    state.message = nullptr;
    state.message_size = 0;
  } else {
    if (state.message != nullptr) let_go_of_message(state);
    pin(state, *choice.link);
  }
  state.runs.push(built.run);
  for (size_t i = 0; i < built.more.size(); ++i) state.runs.push(built.more[i]);
  // The host's response may refer to one run: offer the largest.
  ChunkRun largest = built.run;
  for (size_t i = 0; i < state.runs.size(); ++i) {
    if (state.runs[i].chunks > largest.chunks) largest = state.runs[i];
  }
  state.phase = CallState::Phase::kRunning;
  state.lane = choice.worker;
  state.method = choice.method;
  state.owes_complete = state.owes_finished = true;
  CallSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
  slot.method = static_cast<uint16_t>(choice.method);
  slot.call = state.index;
  slot.generation = state.generation;
  slot.deadline_ns = state.call->deadline_ns;
  slot.request = built.object;
  slot.metadata = built.metadata;
  slot.rx_begin = largest.offset;
  slot.rx_chunks = largest.chunks;
  choice.link->push_call(choice.worker, slot);
  if (waited) replies_.started(*state.call);
}

// Keeps the request's bytes (what was received into a buffer stays there) and queues the call behind its route.
void Dispatcher::wait(CallState& state, std::string_view wire) {
  if (waiting_.size() >= options_.max_waiting) {
    return fail(state, StatusCode::kResourceExhausted, "too many calls wait for the service");
  }
  if (state.message == nullptr) {
    if (!requests_.on_heap(state, wire.size(), wire.size())) {
      return fail(state, StatusCode::kResourceExhausted, "too many bytes of requests wait for the service");
    }
    std::memcpy(state.message, wire.data(), wire.size());
  }
  waiting_.push(state);
  state.phase = CallState::Phase::kWaiting;
  int64_t now = monotonic_ns();
  timers_.catch_up(now);
  // For room, or for what is left of the time after the last host's end in which another may come.
  state.wait_until_ns = std::min(now + options_.wait_ns, state.route->kept_until_ns);
  arm(state, std::min(state.wait_until_ns, state.call->deadline_ns));
}

// ---- time

void Dispatcher::arm(CallState& state, int64_t when_ns) {
  if (when_ns != kNoDeadline) timers_.arm(state.timer, when_ns);
}

void Dispatcher::expire(CallState& state) {
  if (state.call == nullptr) return;
  if (now_ns_ >= state.call->deadline_ns) {
    if (state.owes_complete && !state.cancelled) {
      state.cancelled = true;
      state.host->cancel(state.lane, state.index, state.generation, CancelReason::kDeadline);
    }
    return fail(state, StatusCode::kDeadlineExceeded, "Deadline Exceeded");
  }
  if (state.phase == CallState::Phase::kWaiting && now_ns_ >= state.wait_until_ns) return end_waiting(state);
  arm(state, state.phase == CallState::Phase::kWaiting ? std::min(state.wait_until_ns, state.call->deadline_ns)
                                                       : state.call->deadline_ns);
}

void Dispatcher::end_waiting(CallState& state) {
  bool any_host = !state.route->targets.empty();
  fail(state, any_host ? StatusCode::kResourceExhausted : StatusCode::kUnavailable,
       any_host ? "the service had no room for the call in time" : "no process of the service is attached");
}

// ---- the end of a call

// Ends the call towards the client with an error. `state` may be free when this returns.
void Dispatcher::fail(CallState& state, StatusCode code, std::string_view message) {
  if (state.phase == CallState::Phase::kReplied || state.phase == CallState::Phase::kOver) return;
  if (state.phase == CallState::Phase::kWaiting) waiting_.remove(state);
  timers_.disarm(state.timer);
  // While the transport still writes into the message buffer, the buffer stays; the call frees it.
  if (state.phase != CallState::Phase::kReceiving) let_go_of_message(state);
  state.phase = CallState::Phase::kReplied;
  Reply reply;
  reply.code = code;
  reply.status_message = message;
  replies_.reply(*state.call, reply);
}

// Frees the request's wire bytes, if they are on the heap or in rx memory of a call that no host has.
void Dispatcher::let_go_of_message(CallState& state) {
  requests_.release(state);
  if (!state.owes_complete && !state.owes_finished && !state.owes_release) let_go_of_host(state);
}

// Call after any step that may have removed the last reason to keep memory or the state itself.
void Dispatcher::settle(CallState& state) {
  if (state.phase == CallState::Phase::kOver) {
    if (state.reply != nullptr) drop_reply(state);
    if (state.owes_release) {
      state.owes_release = false;
      if (!state.host->gone) state.host->release(state.lane, state.tx_call, state.tx_bytes, now_ns_);
    }
  }
  if (state.owes_complete || state.owes_finished || state.owes_release) return;
  if (state.phase == CallState::Phase::kOver) {
    let_go_of_message(state);
    state.cancelled = false;
    state.wanted_chunks = 0;
    routes_.leave(*state.route);
    state.route = nullptr;
    if (state.payer != nullptr) state.payer->leave_call();
    table_.give_back(state);
  } else if (state.phase == CallState::Phase::kReplied) {
    let_go_of_host(state);
  }
}

void Dispatcher::pin(CallState& state, HostLink& link) {
  state.host = &link;
  ++link.pins;
}

void Dispatcher::let_go_of_host(CallState& state) {
  HostLink* link = state.host;
  if (link == nullptr) return;
  state.runs.free_all(link->rx());
  state.host = nullptr;
  --link->pins;
  unpinned(*link);
}

// ---- Pollable

bool Dispatcher::poll(int64_t now_ns) {
  now_ns_ = now_ns;
  // A reply may make the transport end other calls, but attach and detach come through closures only.
  bool did =
      turns_.run(links_.attached(), [this](HostLink& link, int64_t budget_ns) { return serve(link, budget_ns); });
  if (timers_.size() != 0) {
    did |= timers_.advance(now_ns, [this](TimerNode& node) { expire(reinterpret_cast<CallState&>(node)); }) != 0;
  }
  if (waiting_.size() != 0) {
    did |= waiting_.serve([this](CallState& state) {
      try {
        return try_start(state, {state.message, state.message_size});
      } catch (const std::bad_alloc&) {
        return fail(state, StatusCode::kResourceExhausted, kNoMemory), true;
      }
    });
  }
  for (const auto& link : links_.attached()) did |= link->flush(now_ns);
  changes_left_ = RouteChanges::kRoutesPerTurn;
  if (changes_.pending()) {
    did = true;
    change_routes();
  }
  if (now_ns >= routes_.next_orphan_ns()) did |= routes_.remove_orphans(now_ns, changes_left_) != 0;
  report_failed_and_drained();
  if (now_ns >= next_metrics_ns_) update_metrics();
  return did;
}

void Dispatcher::update_metrics() {
  next_metrics_ns_ = now_ns_ + kMetricsPeriodNs;
  waiting_gauge_->set(waiting_.size());
  reply_bytes_gauge_->set(static_cast<int64_t>(reply_bytes()));
  routes_gauge_->set(static_cast<int64_t>(routes_.size()));
  most_routes_ = std::max(most_routes_, routes_.size());
  if (most_routes_ - routes_.size() >= kTrimRoutes) {
    most_routes_ = routes_.size();
    heap::want_trim();
  }
  refused_->add(responses_.refused() - refused_->value());
  table_.shrink();
  if (!links_.gone().empty()) cut_off_replies_of_gone();
  for (const auto& link : links_.attached()) {
    link->update_metrics();
    if (link->failure() == nullptr) link->look_at_idle_lanes(kIdleLanesPerPeriod);
  }
}

// A host without calls is not told: it has nothing to send, and its end comes by the control socket.
bool Dispatcher::prepare_to_sleep() {
  if (changes_.pending()) return true;
  for (const auto& link : links_.attached()) {
    if (link->active()) link->announce_sleep();
  }
  for (const auto& link : links_.attached()) {
    if (link->long_answer != nullptr) return true;
    if (!link->postponed.empty() && responses_.room(*link) >= link->postponed.front().wanted_bytes) return true;
    if (link->failure() == nullptr && link->any_response_ready()) return true;
  }
  return false;
}

void Dispatcher::woke_up() {
  for (const auto& link : links_.attached()) link->awake();
}

int64_t Dispatcher::next_timer_ns() const {
  int64_t next = std::min(timers_.next_ns(), routes_.next_orphan_ns());
  for (const auto& link : links_.attached()) {
    next = std::min(next, link->next_flush_ns());
    if (!link->postponed.empty()) next = std::min(next, link->postponed.front().until_ns);
  }
  for (const auto& link : links_.gone())
    next = std::min(next, std::max(link->gone_since_ns + kGonePatienceNs, next_metrics_ns_));
  if (waiting_.size() != 0 && waiting_.any_with_host()) return std::min(next, now_ns_ + kRetryNs);
  return next;
}

}  // namespace drover::engine
