// The life of a call: begun, waiting, running, replied, over. See dispatcher.h; routing and requests are in
// dispatcher_request.cc, responses and hosts in dispatcher_response.cc.
#include "engine/dispatch/dispatcher.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstring>

#include "channel/doorbell.h"

namespace drover::engine {
namespace {

constexpr size_t kPooledEncoded = 256;            // reply buffers that are kept for the next call
constexpr size_t kPooledEncodedBytes = 64 << 10;  // bigger ones are freed
constexpr int64_t kMetricsPeriodNs = 100'000'000;
constexpr int64_t kRetryNs = 1'000'000;  // a full ring says nothing when it drains: look again that soon

}  // namespace

Dispatcher::Dispatcher(uint32_t thread, ReplySink& replies, ThreadMetrics& metrics, const DispatchOptions& options,
                       HostEvents* events)
    : thread_(thread),
      replies_(replies),
      metrics_(metrics),
      options_(options),
      events_(events),
      wake_(::epoll_create1(EPOLL_CLOEXEC)),
      now_ns_(monotonic_ns()),
      timers_(now_ns_),
      route_table_(64),
      waiting_gauge_(metrics.gauge("drover_waiting_calls", "Calls that wait for a host or for room")),
      host_failures_(metrics.counter("drover_host_failures_total", "Hosts detached because they broke the channel")) {}

// The transport is gone by now, and with it every Call.
Dispatcher::~Dispatcher() {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    timers_.disarm(state.timer);
    delete state.reply;
    state.reply = nullptr;
  }
  metrics_.remove(waiting_gauge_);
  metrics_.remove(host_failures_);
}

CallSink::Start Dispatcher::begin_call(Call& call) {
  call.max_request_bytes = options_.max_request_bytes;
  Route* route = find_route(call.listener, call.path);
  if (route == nullptr) return unknown_method(call.path, call.listener);
  call.metrics = route->metrics;
  if (call.deadline_ns <= call.start_ns) return {GrpcCode::kDeadlineExceeded, "the deadline has passed"};
  CallState& state = table_.take();
  state.call = &call;
  state.route = route;
  call.dispatch = &state;
  if (call.deadline_ns != kNoDeadline) {
    timers_.catch_up(call.start_ns);
    arm(state, call.deadline_ns);
  }
  return {};
}

void Dispatcher::request_complete(Call& call, std::string_view wire) {
  CallState& state = state_of(call);
  // Answered while it was being received (its deadline passed, its host broke): nothing is wanted any more.
  if (state.phase != CallState::Phase::kReceiving) return;
  if (state.message != nullptr) wire = {state.message, state.message_size};
  if (state.route->first_waiting == nullptr) {
    Outcome outcome = try_start(state, wire);
    if (outcome == Outcome::kDone) return;
  }
  wait(state, wire);
}

void Dispatcher::abandon(Call& call) {
  CallState& state = state_of(call);
  if (state.phase == CallState::Phase::kWaiting) stop_waiting(state);
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

// ---- waiting

// Keeps the request's bytes (what was received into a buffer stays there) and queues the call behind its route.
void Dispatcher::wait(CallState& state, std::string_view wire) {
  if (waiting_ >= options_.max_waiting) {
    return fail(state, GrpcCode::kResourceExhausted, "too many calls wait for the service");
  }
  if (state.message == nullptr) {
    if (!heap_buffer(state, wire.size())) {
      return fail(state, GrpcCode::kResourceExhausted, "too many bytes of requests wait for the service");
    }
    std::memcpy(state.message, wire.data(), wire.size());
  }
  state.phase = CallState::Phase::kWaiting;
  int64_t now = monotonic_ns();
  timers_.catch_up(now);
  state.wait_until_ns = now + options_.wait_ns;
  arm(state, std::min(state.wait_until_ns, state.call->deadline_ns));
  Route& route = *state.route;
  if (route.first_waiting == nullptr) waiting_routes_.push_back(&route);
  state.next_waiting = nullptr;
  state.previous_waiting = route.last_waiting;
  (route.last_waiting != nullptr ? route.last_waiting->next_waiting : route.first_waiting) = &state;
  route.last_waiting = &state;
  ++waiting_;
}

void Dispatcher::stop_waiting(CallState& state) {
  Route& route = *state.route;
  (state.previous_waiting != nullptr ? state.previous_waiting->next_waiting : route.first_waiting) = state.next_waiting;
  (state.next_waiting != nullptr ? state.next_waiting->previous_waiting : route.last_waiting) = state.previous_waiting;
  state.next_waiting = state.previous_waiting = nullptr;
  --waiting_;
  if (route.first_waiting == nullptr) std::erase(waiting_routes_, &route);
}

// Starts what can be started, in the order of arrival for each route. True if anything was.
bool Dispatcher::serve_waiting() {
  bool did = false;
  // A route leaves the list with its last waiting call; then the next one stands at its index.
  for (size_t i = 0; i < waiting_routes_.size();) {
    Route* route = waiting_routes_[i];
    while (route->first_waiting != nullptr) {
      CallState& state = *route->first_waiting;
      if (try_start(state, {state.message, state.message_size}) != Outcome::kDone) break;
      did = true;
    }
    if (route->first_waiting != nullptr) ++i;
  }
  return did;
}

void Dispatcher::end_waiting(CallState& state) {
  bool any_host = !state.route->targets.empty();
  fail(state, any_host ? GrpcCode::kResourceExhausted : GrpcCode::kUnavailable,
       any_host ? "the service had no room for the call in time" : "no process of the service is attached");
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
    return fail(state, GrpcCode::kDeadlineExceeded, "Deadline Exceeded");
  }
  if (state.phase == CallState::Phase::kWaiting && now_ns_ >= state.wait_until_ns) return end_waiting(state);
  arm(state, state.phase == CallState::Phase::kWaiting ? std::min(state.wait_until_ns, state.call->deadline_ns)
                                                       : state.call->deadline_ns);
}

// ---- the end

// Ends the call towards the client with an error. `state` may be free when this returns.
void Dispatcher::fail(CallState& state, GrpcCode code, std::string_view message) {
  if (state.phase == CallState::Phase::kReplied || state.phase == CallState::Phase::kOver) return;
  if (state.phase == CallState::Phase::kWaiting) stop_waiting(state);
  timers_.disarm(state.timer);
  // While the transport still writes into the message buffer, that stays: it goes with the call.
  if (state.phase != CallState::Phase::kReceiving) let_go_of_message(state);
  state.phase = CallState::Phase::kReplied;
  Reply reply;
  reply.code = code;
  reply.message = message;
  replies_.reply(*state.call, reply);
}

// Frees the request's wire bytes, if they are on the heap or in rx memory of a call that no host has.
void Dispatcher::let_go_of_message(CallState& state) {
  if (state.heap_message != nullptr) {
    heap_bytes_ -= state.message_capacity;
    state.heap_message.reset();
  }
  state.message = nullptr;
  state.message_size = state.message_capacity = 0;
  if (!state.owes_complete && !state.owes_finished && !state.owes_release) let_go_of_host(state);
}

// After anything that may have been the last reason to keep memory or the state itself.
void Dispatcher::settle(CallState& state) {
  if (state.phase == CallState::Phase::kOver) {
    if (state.reply != nullptr) {
      give_encoded(state.reply);
      state.reply = nullptr;
    }
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
    state.route = nullptr;
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
  if (link->gone && link->pins == 0) drop_link(link);
}

void Dispatcher::drop_link(HostLink* link) {
  uint64_t id = link->host().id;
  std::erase_if(gone_, [link](const std::unique_ptr<HostLink>& one) { return one.get() == link; });
  if (events_ != nullptr) events_->host_let_go(id, thread_);
}

Encoded* Dispatcher::take_encoded() {
  if (spare_encoded_.empty()) return new Encoded;
  Encoded* encoded = spare_encoded_.back().release();
  spare_encoded_.pop_back();
  return encoded;
}

void Dispatcher::give_encoded(Encoded* encoded) {
  std::unique_ptr<Encoded> owner(encoded);
  if (spare_encoded_.size() < kPooledEncoded && encoded->buffer_bytes() <= kPooledEncodedBytes) {
    spare_encoded_.push_back(std::move(owner));
  }
}

// ---- Pollable

bool Dispatcher::poll(int64_t now_ns) {
  now_ns_ = now_ns;
  bool did = false;
  // By index: a reply may make the transport end other calls, but attach and detach come through closures only.
  for (size_t i = 0; i < links_.size(); ++i) did |= take_responses(*links_[i]);
  if (timers_.size() != 0) {
    did |= timers_.advance(now_ns, [this](TimerNode& node) { expire(reinterpret_cast<CallState&>(node)); }) != 0;
  }
  if (waiting_ != 0) did |= serve_waiting();
  for (size_t i = 0; i < links_.size(); ++i) did |= links_[i]->flush(now_ns);
  report_failed_and_drained();
  if (now_ns >= next_metrics_ns_) {
    next_metrics_ns_ = now_ns + kMetricsPeriodNs;
    waiting_gauge_->set(waiting_);
    for (auto& link : links_) link->update_metrics();
  }
  return did;
}

bool Dispatcher::prepare_to_sleep() {
  for (auto& link : links_) link->announce_sleep();
  for (auto& link : links_) {
    if (link->failure() == nullptr && link->any_response_ready()) return true;
  }
  return false;
}

void Dispatcher::woke_up() {
  for (auto& link : links_) link->awake();
}

int64_t Dispatcher::next_timer_ns() const {
  int64_t next = timers_.next_ns();
  for (const auto& link : links_) next = std::min(next, link->next_flush_ns());
  for (const Route* route : waiting_routes_) {
    if (!route->targets.empty()) return std::min(next, now_ns_ + kRetryNs);
  }
  return next;
}

}  // namespace drover::engine
