#include "engine/dispatch/calls.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "channel/control.h"
#include "engine/base/clock.h"

namespace drover::engine {
namespace {

constexpr size_t kSpareStreams = 64;
constexpr size_t kExpiredPerTurn = 256;
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
      requests_(options.max_waiting_bytes),
      parses_(options.parses, links) {}

Calls::~Calls() {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    timers_.disarm(state.timer);
    drop_parse(state);
    if (state.reply != nullptr) reply_memory_.let_go(state);
    if (state.stream != nullptr) {
      drop_stream(state);
      delete state.stream;
    }
    if (state.phase != CallState::Phase::kFree && state.payer != nullptr) state.payer->leave_call();
  }
}

void Calls::begin_stream(CallState& state) {
  state.stream_flags = state.route->flags & kMethodKind;
  state.call->request_streams = (state.stream_flags & kMethodRequestStreams) != 0;
  state.call->reply_streams = (state.stream_flags & kMethodReplyStreams) != 0;
  if (spare_streams_.empty()) {
    spare_streams_.reserve(kSpareStreams);  // keeping takes no memory
    state.stream = new StreamState();
  } else {
    state.stream = spare_streams_.back().release();
    spare_streams_.pop_back();
  }
}

bool Calls::keep_path(CallState& state, std::string_view path) {
  if (!requests_.hold(state.payer, path.size())) return false;
  try {
    state.stream->path = path;
  } catch (const std::bad_alloc&) {
    requests_.let_go(state.payer, path.size());
    throw;
  }
  return true;
}

void Calls::drop_path(CallState& state) {
  if (state.stream->path.empty()) return;
  requests_.let_go(state.payer, state.stream->path.size());
  state.stream->path = std::string();
}

std::span<char> Calls::heap_buffer(CallState& state, size_t size, size_t least) {
  if (!requests_.on_heap(state, size, least)) return {};
  return {state.message, least};
}

bool Calls::keep_message(CallState& state, std::string_view wire) {
  if (state.message != nullptr || state.call->request_streams) return true;
  if (!requests_.on_heap(state, wire.size(), wire.size())) return false;
  std::memcpy(state.message, wire.data(), wire.size());
  return true;
}

void Calls::leave_waiting(CallState& state) {
  if (state.phase != CallState::Phase::kWaiting) return;
  waiting_.remove(state);
  timers_.disarm(state.timer);
  arm(state, state.call->deadline_ns);
}

void Calls::parsing(CallState& state) {
  leave_waiting(state);
  state.phase = CallState::Phase::kParsing;
}

void Calls::wait(CallState& state, std::string_view wire) {
  if (waiting_.size() >= options_.max_waiting) {
    return fail(state, StatusCode::kResourceExhausted, "too many calls wait for the service");
  }
  if (!keep_message(state, wire)) {
    return fail(state, StatusCode::kResourceExhausted, "too many bytes of requests wait for the service");
  }
  let_go_of_rx(state);
  waiting_.push(state);
  state.phase = CallState::Phase::kWaiting;
  int64_t now = monotonic_ns();
  timers_.catch_up(now);
  // For room, or for what is left of the time after the last host's end in which another may come. A request whose
  // parsing found no memory, or lost its host, goes on with the time that it began with.
  if (state.wait_until_ns == 0) state.wait_until_ns = now + options_.wait_ns;
  state.wait_until_ns = std::min(state.wait_until_ns, state.route->kept_until_ns);
  arm(state, std::min(state.wait_until_ns, state.call->deadline_ns));
}

void Calls::cancel(CallState& state, CancelReason reason) {
  state.cancelled = true;
  state.host->cancel(state.lane, state.index, state.generation, reason);
}

void Calls::abandon(CallState& state) {
  drop_parse(state);
  if (state.phase == CallState::Phase::kWaiting) waiting_.remove(state);
  timers_.disarm(state.timer);
  if ((state.owed & (CallState::kComplete | CallState::kFinished)) != 0 && !state.cancelled)
    cancel(state, CancelReason::kClient);
  over(state);
}

// ---- time

bool Calls::expire() {
  if (timers_.size() == 0) return false;
  return timers_.advance(now_ns_, kExpiredPerTurn,
                         [this](TimerNode& node) { expire(reinterpret_cast<CallState&>(node)); }) != 0;
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
  const bool waits_for_room = parses_.any_over() || (waiting_.size() != 0 && waiting_.any_with_host());
  return waits_for_room ? std::min(next, now_ns_ + kRetryNs) : next;
}

// ---- the end of a call

void Calls::fail(CallState& state, StatusCode code, std::string_view message) {
  if (state.phase == CallState::Phase::kReplied || state.phase == CallState::Phase::kOver) return;
  drop_parse(state);
  if (state.phase == CallState::Phase::kWaiting) waiting_.remove(state);
  if (state.stream != nullptr) drop_input(state);
  // While the transport still writes into the message buffer, the buffer stays; the call frees it.
  if (state.phase != CallState::Phase::kReceiving) let_go_of_message(state);
  replied(state);
  Reply reply;
  reply.code = code;
  reply.status_message = message;
  replies_.reply(*state.call, reply);
}

void Calls::fail_running(CallState& state, StatusCode code, std::string_view message) {
  if ((state.owed & CallState::kComplete) != 0 && !state.cancelled) cancel(state, CancelReason::kClient);
  fail(state, code, message);
}

void Calls::host_gone(CallState& state, bool cut_off) {
  if (state.phase == CallState::Phase::kRunning) {
    state.owed &= CallState::kSteps;  // nor is an answer owed that was put off
    return fail(state, StatusCode::kUnavailable, "the service's process ended");
  }
  if (cut_off && state.phase == CallState::Phase::kReplied) return replies_.cut_off(*state.call);
  if (state.owed == 0) return;
  state.owed &= CallState::kRelease | CallState::kSteps;
  settle(state);
}

void Calls::settle_over(CallState& state) {
  if (state.reply != nullptr) drop_reply(state);
  if (state.stream != nullptr) [[unlikely]]
    drop_stream(state);
  if ((state.owed & CallState::kRelease) != 0) {
    state.owed &= ~CallState::kRelease;
    if (!state.host->gone) state.host->release(state.lane, state.tx_call, state.tx_bytes, now_ns_);
  }
  if (state.owed != 0) return;
  let_go_of_message(state);
  state.cancelled = state.headers_sent = false;
  state.wanted_chunks = 0;
  if (state.stream != nullptr) [[unlikely]]
    recycle_stream(state);
  routes_.leave(*state.route);
  state.route = nullptr;
  if (state.payer != nullptr) state.payer->leave_call();
  table_.give_back(state);
}

// ---- what it holds

void Calls::let_go_of_message(CallState& state) {
  if (state.message != nullptr) requests_.release(state);
  if (state.owed != 0) return;
  let_go_of_rx(state);
  let_go_of_host(state);
}

void Calls::unpin(CallState& state) {
  HostLink& link = *state.host;
  state.runs.free_all(link.rx());
  if (state.rx_holder == &link) [[unlikely]]
    drop_rx(state);
  if (state.stream != nullptr) [[unlikely]]
    free_messages(state);
  state.host = nullptr;
  HostCalls::remove(state);
  links_.unpinned(link);
}

void Calls::hold_rx(CallState& state, HostLink& link, size_t bytes) {
  if (state.rx_holder != &link) {
    let_go_of_rx(state);
    if (state.payer == nullptr || (bytes <= RxShares::kSmallBytes && !link.rx_is_scarce())) return;
  }
  if (bytes == 0) return let_go_of_rx(state);
  if (bytes > state.rx_held) {
    link.rx_shares.add(*state.payer, bytes - state.rx_held);
  } else if (bytes < state.rx_held) {
    link.rx_shares.remove(*state.payer, state.rx_held - bytes);
  }
  state.rx_holder = &link;
  state.rx_held = bytes;
}

bool Calls::wait_for_share(CallState& state, HostLink& link, size_t bytes) {
  if (state.payer == nullptr) return false;
  Account* account = link.rx_shares.at_share(*state.payer, link.rx().total_chunks() * kChunkSize, bytes);
  if (account == nullptr) return false;
  if (state.wanted_chunks == 0) account->count_refusal(Resource::kRequests);
  state.wanted_chunks = std::max(1u, state.wanted_chunks);
  return true;
}

void Calls::drop_rx(CallState& state) {
  state.rx_holder->rx_shares.remove(*state.payer, state.rx_held);
  state.rx_holder = nullptr;
  state.rx_held = 0;
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

// ---- streams

StreamState::Step& Calls::keep_step(CallState& state, uint32_t tx_call) {
  StreamState::Step step;
  if (state.reply_bytes != nullptr) step.reply_copy = std::make_unique<Piece>(state.reply_copy);
  state.stream->steps.reserve();
  step.reply = std::exchange(state.reply, nullptr);
  step.reply_memory = std::exchange(state.reply_memory, 0);
  step.reply_lent = std::exchange(state.reply_lent, 0);
  step.reply_bytes = std::move(state.reply_bytes);
  step.reply_host = state.reply_host;
  step.tx_call = tx_call;
  state.owed |= CallState::kSteps;
  return state.stream->steps.push(std::move(step));
}

void Calls::end_step(CallState& state, StreamState::Step step) {
  drop_step(state, std::move(step));
  if (!state.stream->steps.empty()) return;
  state.owed &= ~CallState::kSteps;
  settle(state);
}

void Calls::drop_step(CallState& state, StreamState::Step step) {
  if (step.reply_memory != 0) state.payer->release(Resource::kMemory, step.reply_memory);
  if (step.reply_lent != 0) state.payer->release(Resource::kLent, step.reply_lent);
  if (step.reply != nullptr) reply_memory_.let_go(step.reply, *step.reply_host);
  if (!state.host->gone) state.host->release_now(state.lane, step.tx_call, now_ns_);
}

// The transport has let go of the call: what was on its way in either direction.
void Calls::drop_stream(CallState& state) {
  StreamState& stream = *state.stream;
  drop_input(state);
  if (stream.answer != nullptr) drop_answer(state);
  drop_path(state);
  while (!stream.steps.empty()) drop_step(state, stream.steps.pop());
  state.owed &= ~CallState::kSteps;
  while (!stream.put_off.empty()) {
    const CompleteSlot slot = stream.put_off.pop();
    if (slot.type == static_cast<uint8_t>(ResponseSlotType::kComplete)) ++state.host->failed;
    if (!state.host->gone) state.host->release(state.lane, slot.tx_call, 0, now_ns_);
  }
}

bool Calls::send_answer(CallState& state, std::unique_ptr<EngineAnswer> answer) {
  Reply reply;
  reply.ends = false;
  reply.has_message = true;
  reply.message = answer->pieces();
  reply.message_size = answer->size();
  if (!keep_answer(state, std::move(answer))) {
    fail(state, StatusCode::kResourceExhausted, "too many bytes of replies wait for this client");
    return false;
  }
  const uint32_t call = state.index, generation = state.generation;
  const bool copied = replies_.reply(*state.call, reply);
  CallState* still = find(call, generation);
  if (still == nullptr) return false;
  // Also of a call that ended meanwhile: the transport does not report a copied reply as sent.
  if (copied && still->stream != nullptr) drop_answer(*still);
  return still->phase != CallState::Phase::kReplied && still->phase != CallState::Phase::kOver;
}

// False: over a budget, and nothing was kept.
bool Calls::keep_answer(CallState& state, std::unique_ptr<EngineAnswer> answer) {
  const size_t bytes = answer->memory();
  if (state.payer != nullptr && !state.payer->charge(Resource::kMemory, bytes)) return false;
  state.stream->answer = std::move(answer);
  state.stream->answer_memory = state.payer != nullptr ? bytes : 0;
  return true;
}

void Calls::drop_answer(CallState& state) {
  StreamState& stream = *state.stream;
  stream.answer.reset();
  const size_t bytes = std::exchange(stream.answer_memory, 0);
  if (bytes != 0) state.payer->release(Resource::kMemory, bytes);
}

void Calls::drop_input(CallState& state) {
  WireQueue& input = state.stream->input;
  if (input.empty()) return;
  requests_.let_go(state.payer, input.size());
  input.clear();
}

void Calls::free_messages(CallState& state) {
  Queue<StreamState::AtHost>& messages = state.stream->at_host;
  while (!messages.empty()) messages.pop().runs.free_all(state.host->rx());
  state.stream->chunks_at_host = 0;
  if (state.rx_holder != nullptr) hold_rx(state, *state.host, state.runs.chunks() * kChunkSize);
}

void Calls::recycle_stream(CallState& state) {
  state.stream_flags = 0;
  std::unique_ptr<StreamState> stream(std::exchange(state.stream, nullptr));
  if (spare_streams_.size() >= kSpareStreams) return;
  stream->clear();
  spare_streams_.push_back(std::move(stream));
}

}  // namespace drover::engine
