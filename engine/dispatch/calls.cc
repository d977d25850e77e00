#include "engine/dispatch/calls.h"

#include <algorithm>
#include <cstring>

#include "engine/base/clock.h"

namespace drover::engine {
namespace {

constexpr int64_t kRetryNs = 1'000'000;  // a full ring does not signal when it drains: look again after this time

}  // namespace

Calls::Calls(const Options& options, ReplySink& replies, RouteTable& routes, HostLinks& links,
             ReplyMemory& reply_memory)
    : options_(options),
      replies_(replies),
      routes_(routes),
      links_(links),
      reply_memory_(reply_memory),
      now_ns_(monotonic_ns()),
      timers_(now_ns_),
      requests_(options.max_waiting_bytes) {}

Calls::~Calls() {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    timers_.disarm(state.timer);
    if (state.reply != nullptr) reply_memory_.let_go(state);
    if (state.phase != CallState::Phase::kFree && state.payer != nullptr) state.payer->leave_call();
  }
}

std::span<char> Calls::heap_buffer(CallState& state, size_t size, size_t least) {
  if (!requests_.on_heap(state, size, least)) return {};
  return {state.message, least};
}

void Calls::wait(CallState& state, std::string_view wire) {
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

void Calls::cancel(CallState& state, CancelReason reason) {
  state.cancelled = true;
  state.host->cancel(state.lane, state.index, state.generation, reason);
}

void Calls::abandon(CallState& state) {
  if (state.phase == CallState::Phase::kWaiting) waiting_.remove(state);
  timers_.disarm(state.timer);
  if ((state.owed & (CallState::kComplete | CallState::kFinished)) != 0 && !state.cancelled)
    cancel(state, CancelReason::kClient);
  over(state);
}

// ---- time

bool Calls::expire() {
  if (timers_.size() == 0) return false;
  return timers_.advance(now_ns_, [this](TimerNode& node) { expire(reinterpret_cast<CallState&>(node)); }) != 0;
}

void Calls::expire(CallState& state) {
  if (state.call == nullptr) return;
  if (now_ns_ >= state.call->deadline_ns) {
    if ((state.owed & CallState::kComplete) != 0 && !state.cancelled) cancel(state, CancelReason::kDeadline);
    return fail(state, StatusCode::kDeadlineExceeded, "Deadline Exceeded");
  }
  if (state.phase == CallState::Phase::kWaiting && now_ns_ >= state.wait_until_ns) return end_waiting(state);
  arm(state, state.phase == CallState::Phase::kWaiting ? std::min(state.wait_until_ns, state.call->deadline_ns)
                                                       : state.call->deadline_ns);
}

void Calls::end_waiting(CallState& state) {
  bool any_host = !state.route->targets.empty();
  fail(state, any_host ? StatusCode::kResourceExhausted : StatusCode::kUnavailable,
       any_host ? "the service had no room for the call in time" : "no process of the service is attached");
}

int64_t Calls::next_ns() const {
  int64_t next = timers_.next_ns();
  return waiting_.size() != 0 && waiting_.any_with_host() ? std::min(next, now_ns_ + kRetryNs) : next;
}

// ---- the end of a call

void Calls::fail(CallState& state, StatusCode code, std::string_view message) {
  if (state.phase == CallState::Phase::kReplied || state.phase == CallState::Phase::kOver) return;
  if (state.phase == CallState::Phase::kWaiting) waiting_.remove(state);
  // While the transport still writes into the message buffer, the buffer stays; the call frees it.
  if (state.phase != CallState::Phase::kReceiving) let_go_of_message(state);
  replied(state);
  Reply reply;
  reply.code = code;
  reply.status_message = message;
  replies_.reply(*state.call, reply);
}

void Calls::host_gone(CallState& state, bool cut_off) {
  if (state.phase == CallState::Phase::kRunning) {
    state.owed = 0;  // nor is an answer that was put off
    return fail(state, StatusCode::kUnavailable, "the service's process ended");
  }
  if (cut_off && state.phase == CallState::Phase::kReplied) return replies_.cut_off(*state.call);
  if (state.owed == 0) return;
  state.owed &= CallState::kRelease;
  settle(state);
}

void Calls::settle_over(CallState& state) {
  if (state.reply != nullptr) drop_reply(state);
  if ((state.owed & CallState::kRelease) != 0) {
    state.owed &= ~CallState::kRelease;
    if (!state.host->gone) state.host->release(state.lane, state.tx_call, state.tx_bytes, now_ns_);
  }
  if (state.owed != 0) return;
  let_go_of_message(state);
  state.cancelled = false;
  state.wanted_chunks = 0;
  routes_.leave(*state.route);
  state.route = nullptr;
  if (state.payer != nullptr) state.payer->leave_call();
  table_.give_back(state);
}

// ---- what it holds

void Calls::let_go_of_message(CallState& state) {
  if (state.message != nullptr) requests_.release(state);
  if (state.owed == 0) let_go_of_host(state);
}

void Calls::unpin(CallState& state) {
  HostLink& link = *state.host;
  state.runs.free_all(link.rx());
  state.host = nullptr;
  HostCalls::remove(state);
  links_.unpinned(link);
}

void Calls::drop_reply(CallState& state) {
  if (state.reply_memory != 0) [[unlikely]]
    release_charges(state);
  reply_memory_.let_go(state);
}

// Of a reply that was not small enough to be part of the call.
void Calls::release_charges(CallState& state) {
  state.payer->release(Resource::kMemory, state.reply_memory);
  if (state.reply_lent != 0) state.payer->release(Resource::kLent, state.reply_lent);
  state.reply_memory = state.reply_lent = 0;
  state.reply_bytes.reset();
}

}  // namespace drover::engine
