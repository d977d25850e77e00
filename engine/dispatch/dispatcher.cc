// The life of a call: open, waiting, running, replied, over. See dispatcher.h.
#include "engine/dispatch/dispatcher.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_set>

namespace drover::engine {
namespace {

constexpr int64_t kMetricsPeriodNs = 100'000'000;
constexpr int64_t kRetryNs = 1'000'000;  // a full ring does not signal when it drains: look again after this time
constexpr int64_t kGonePatienceNs = 5'000'000'000;  // how long replies may refer to the memory of a host that has gone
constexpr size_t kCallReplyBytes = 2048;  // of a reply that is paid for by the call itself: kCalls of the account
constexpr std::string_view kNoMemory = "the engine has no memory for the call";
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
      routes_(metrics),
      workers_(options.policy),
      requests_(options.max_waiting_bytes),
      responses_(options.max_response_bytes),
      links_(thread, metrics),
      waiting_gauge_(metrics.gauge("drover_waiting_calls", "Calls that wait for a host or for room")),
      host_failures_(metrics.counter("drover_host_failures_total", "Hosts detached because they broke the channel")) {}

// The transport is gone by now, and with it every Call.
Dispatcher::~Dispatcher() {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    timers_.disarm(state.timer);
    delete state.reply;
    state.reply = nullptr;
    if (state.phase != CallState::Phase::kFree && state.payer != nullptr) state.payer->leave_call();
  }
  metrics_.remove(waiting_gauge_);
  metrics_.remove(host_failures_);
}

// ---- CallSink

Status Dispatcher::open(Call& call) {
  call.max_request_bytes = options_.max_request_bytes;
  Route* route = routes_.find(call.listener, call.path, call.memo);
  if (route == nullptr) return routes_.unknown(call.listener, call.path);
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
  state.wait_until_ns = now + options_.wait_ns;
  arm(state, std::min(state.wait_until_ns, state.call->deadline_ns));
}

// ---- what hosts send

// Takes all slots in the link's rings, at most one ringful each, so that no host occupies the thread.
bool Dispatcher::take_responses(HostLink& link) {
  bool did = false;
  for (uint32_t worker = 0; worker < link.workers(); ++worker) {
    RingConsumer& ring = link.lane(worker).responses;
    Slot slot;
    for (uint32_t left = ring.capacity(); left != 0 && link.failure() == nullptr && ring.try_pop(slot); --left) {
      take_slot(link, worker, slot);
      did = true;
    }
  }
  return did;
}

void Dispatcher::take_slot(HostLink& link, uint32_t worker, const Slot& slot) {
  switch (static_cast<ResponseSlotType>(slot.type)) {
    case ResponseSlotType::kComplete:
      return complete(link, worker, slot_as<CompleteSlot>(slot));
    case ResponseSlotType::kFinished:
      return finished(link, worker, slot_as<FinishedSlot>(slot));
  }
  link.fail("it sent a slot of an unknown type");
}

void Dispatcher::complete(HostLink& link, uint32_t worker, const CompleteSlot& slot) {
  CallState* state = table_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || !state->owes_complete) {
    return link.fail("it completed a call that this worker does not have");
  }
  state->owes_complete = false;
  --link.lane(worker).outstanding;
  --link.running;
  ++link.completed;
  if ((slot.flags & kCompleteFinished) != 0) state->owes_finished = false;
  if (state->phase == CallState::Phase::kRunning) {
    try {
      return answer(*state, slot);
    } catch (const std::bad_alloc&) {  // before anything of the call has changed
      link.release(worker, slot.tx_call, 0, now_ns_);
      return fail(*state, StatusCode::kResourceExhausted, kNoMemory);
    }
  }
  // Too late: the client has its answer, or has left.
  link.release(worker, slot.tx_call, 0, now_ns_);
  settle(*state);
}

void Dispatcher::finished(HostLink& link, uint32_t worker, const FinishedSlot& slot) {
  CallState* state = table_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || state->owes_complete ||
      !state->owes_finished) {
    return link.fail("it finished a call that this worker does not have");
  }
  state->owes_finished = false;
  settle(*state);
}

void Dispatcher::answer(CallState& state, const CompleteSlot& slot) {
  ResponseReader::Answer answer = responses_.read(state, slot);
  const bool small = !answer.lent && answer.reply.message_size <= kCallReplyBytes;
  if (!small && state.payer != nullptr && !charge_reply(state, answer)) [[unlikely]]
    answer = refuse_reply(state);
  timers_.disarm(state.timer);
  state.phase = CallState::Phase::kReplied;
  if (answer.lent) {
    state.owes_release = true;
    state.tx_call = slot.tx_call;
    state.tx_bytes = answer.reply.message_size;
  } else {
    state.host->release(state.lane, slot.tx_call, answer.reply.message_size, now_ns_);
    settle(state);
  }
  replies_.reply(*state.call, answer.reply);  // `state` may be free now
}

// What the reply holds until the client has taken it. False: over a budget; nothing was charged.
bool Dispatcher::charge_reply(CallState& state, ResponseReader::Answer& answer) {
  Account& payer = *state.payer;
  const size_t buffers = state.reply->buffer_bytes();
  if (!payer.charge(Resource::kMemory, buffers)) return false;
  state.reply_memory = buffers;
  if (!answer.lent) return true;
  const size_t size = answer.reply.message_size;
  if (payer.charge_share(Resource::kLent, size, state.host->host().layout->tx_chunks_of_host().size)) [[likely]] {
    state.reply_lent = size;
    return true;
  }
  return copy_reply(state, answer);
}

// The client has much of tx in use already: other clients' replies need the rest.
bool Dispatcher::copy_reply(CallState& state, ResponseReader::Answer& answer) {
  const size_t size = answer.reply.message_size;
  if (!state.payer->charge(Resource::kMemory, size)) return false;
  state.reply_bytes.reset(static_cast<char*>(std::malloc(size)));
  if (state.reply_bytes == nullptr) {
    state.payer->release(Resource::kMemory, size);
    return false;
  }
  state.reply_memory += size;
  // The host may change what it lends at any time; each byte is read once here, and never again.
  state.reply->copy_to(state.reply_bytes.get());
  state.reply_copy = {state.reply_bytes.get(), size};
  answer.reply.message = {&state.reply_copy, 1};
  answer.lent = false;
  return true;
}

ResponseReader::Answer Dispatcher::refuse_reply(CallState& state) {
  drop_reply(state);
  ResponseReader::Answer answer;
  answer.reply.code = StatusCode::kResourceExhausted;
  answer.reply.status_message = "the client does not take its replies: too much of them waits";
  return answer;
}

void Dispatcher::drop_reply(CallState& state) {
  if (state.reply_memory != 0) state.payer->release(Resource::kMemory, state.reply_memory);
  if (state.reply_lent != 0) state.payer->release(Resource::kLent, state.reply_lent);
  state.reply_memory = state.reply_lent = 0;
  state.reply_bytes.reset();
  responses_.recycle(state);
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
  if (link->gone && link->pins == 0) drop_link(*link);
}

void Dispatcher::drop_link(HostLink& link) {
  uint64_t id = link.host().id;
  links_.drop(link);
  if (events_ != nullptr) events_->host_let_go(id, thread_);
}

// ---- hosts

void Dispatcher::expect(uint32_t listener, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) routes_.add(listener, path);
}

// Routes with waiting or running calls stay until these are over.
void Dispatcher::forget_listener(uint32_t listener) {
  std::unordered_set<const Route*> in_use;
  for (uint32_t i = 0; i < table_.size(); ++i) {
    if (table_.at(i)->phase != CallState::Phase::kFree) in_use.insert(table_.at(i)->route);
  }
  routes_.forget_listener(listener, in_use);
}

void Dispatcher::attach(std::shared_ptr<const HostAttachment> host) {
  HostLink& link = links_.attach(host);
  for (uint32_t listener : host->listeners) {
    for (uint32_t method = 0; method < host->methods.size(); ++method) {
      Route* route = routes_.add(listener, host->methods[method].path);
      if (route == nullptr) {
        link.fail("the engine serves too many methods already");
        break;
      }
      route->targets.push_back({&link, method});
    }
  }
  if (!draining_) return;
  link.draining = true;
  link.drain_reported = true;  // reported only after the host's own Drain
  link.push_drain();
}

void Dispatcher::drain(uint64_t host) {
  HostLink* link = links_.find(host);
  if (link == nullptr) return;
  routes_.remove_host(link);
  link->drain_reported = false;  // asked for now, even if the engine's own drain began before
  if (link->draining) return;
  link->draining = true;
  link->push_drain();
}

void Dispatcher::drain_all() {
  draining_ = true;
  for (const auto& link : links_.attached()) {
    if (!link->draining) link->push_drain();
  }
}

void Dispatcher::detach(uint64_t host) {
  HostLink* link = links_.find(host);
  if (link == nullptr) return;
  routes_.remove_host(link);
  links_.detach(*link);
  link->gone_since_ns = now_ns_;
  ++link->pins;  // so that it stays while its calls end
  end_calls_of(*link);
  if (--link->pins == 0) drop_link(*link);
}

// The host sends nothing any more: its running calls are answered, and calls that waited only for its slots are over.
void Dispatcher::end_calls_of(HostLink& link) {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    if (state.phase == CallState::Phase::kFree || state.host != &link) continue;
    bool running = state.phase == CallState::Phase::kRunning;
    bool given = state.owes_complete || state.owes_finished || state.owes_release;
    state.owes_complete = state.owes_finished = false;
    if (running) {
      timers_.disarm(state.timer);
      fail(state, StatusCode::kUnavailable, "the service's process ended");
    } else if (given) {
      settle(state);
    }
  }
  link.running = 0;
}

// Clients that do not take the replies which refer to its memory would keep the region for as long as they like.
void Dispatcher::cut_off_replies_of_gone() {
  std::vector<Call*> calls;
  for (const auto& link : links_.gone()) {
    if (now_ns_ - link->gone_since_ns < kGonePatienceNs) continue;
    for (uint32_t i = 0; i < table_.size(); ++i) {
      CallState& state = *table_.at(i);
      if (state.phase == CallState::Phase::kReplied && state.host == link.get()) calls.push_back(state.call);
    }
  }
  for (Call* call : calls) replies_.cut_off(*call);
}

void Dispatcher::report_failed_and_drained() {
  for (const auto& link : links_.attached()) {
    if (link->failure() != nullptr && !link->failure_reported) [[unlikely]] {
      link->failure_reported = true;
      host_failures_->add();
      routes_.remove_host(link.get());
      if (events_ != nullptr) events_->host_failed(link->host().id, thread_, link->failure());
    }
    if (link->draining && !link->drain_reported && link->pins == 0) {
      link->drain_reported = true;
      if (events_ != nullptr) events_->host_drained(link->host().id, thread_, link->completed);
    }
  }
}

// ---- Pollable

bool Dispatcher::poll(int64_t now_ns) {
  now_ns_ = now_ns;
  bool did = false;
  // A reply may make the transport end other calls, but attach and detach come through closures only.
  for (const auto& link : links_.attached()) did |= take_responses(*link);
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
  report_failed_and_drained();
  if (now_ns >= next_metrics_ns_) {
    next_metrics_ns_ = now_ns + kMetricsPeriodNs;
    waiting_gauge_->set(waiting_.size());
    table_.shrink();
    if (!links_.gone().empty()) cut_off_replies_of_gone();
    for (const auto& link : links_.attached()) link->update_metrics();
  }
  return did;
}

bool Dispatcher::prepare_to_sleep() {
  for (const auto& link : links_.attached()) link->announce_sleep();
  for (const auto& link : links_.attached()) {
    if (link->failure() == nullptr && link->any_response_ready()) return true;
  }
  return false;
}

void Dispatcher::woke_up() {
  for (const auto& link : links_.attached()) link->awake();
}

int64_t Dispatcher::next_timer_ns() const {
  int64_t next = timers_.next_ns();
  for (const auto& link : links_.attached()) next = std::min(next, link->next_flush_ns());
  for (const auto& link : links_.gone())
    next = std::min(next, std::max(link->gone_since_ns + kGonePatienceNs, next_metrics_ns_));
  if (waiting_.size() != 0 && waiting_.any_with_host()) return std::min(next, now_ns_ + kRetryNs);
  return next;
}

}  // namespace drover::engine
