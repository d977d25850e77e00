#include "engine/dispatch/reflection_calls.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "channel/control.h"
#include "engine/base/clock.h"
#include "engine/channelz/channelz_description.h"
#include "engine/reflection/reflection_answer.h"

namespace drover::engine {
namespace {

bool over(const CallState& state) {
  return state.phase == CallState::Phase::kReplied || state.phase == CallState::Phase::kOver;
}

}  // namespace

ReflectionCalls::ReflectionCalls(Calls& calls, const HostLinks& links, ReplySink& replies, ThreadMetrics& metrics)
    : calls_(calls),
      links_(links),
      replies_(replies),
      metrics_(metrics),
      services_{{{}, kReflectionPathV1}, {{}, kReflectionPathV1Alpha}},
      requests_(
          metrics.counter("drover_reflection_requests_total", "Requests of server reflection that were answered")) {}

ReflectionCalls::~ReflectionCalls() {
  for (Named& service : services_) {
    if (service.route.metrics != nullptr) metrics_.release(service.route.metrics);
  }
  metrics_.remove(requests_);
}

bool ReflectionCalls::describes(const HostLink& link, uint32_t listener) const {
  const auto& at = link.host().listeners;
  return link.host().reflection != nullptr && !link.leaving && std::find(at.begin(), at.end(), listener) != at.end();
}

Route* ReflectionCalls::route(uint32_t listener, std::string_view path) {
  for (Named& service : services_) {
    if (path != service.path) continue;
    const auto attached = links_.attached();
    const bool any =
        std::any_of(attached.begin(), attached.end(), [&](const auto& link) { return describes(*link, listener); });
    if (!any) return nullptr;
    Route& route = service.route;
    if (route.metrics == nullptr) {
      route.metrics = metrics_.method(service.path);
      route.path = route.metrics->path();
      route.flags = kMethodStreams;
      route.service = this;
    }
    return &route;
  }
  return nullptr;
}

void ReflectionCalls::message(CallState& state, std::string_view wire, More more) {
  if (over(state)) return;
  StreamState& stream = *state.stream;
  if (more == More::kLast) stream.half_closed = true;
  const size_t held = wire.size() + WireQueue::kOverhead;
  if (!calls_.hold_input(state, held)) {
    return calls_.fail(state, StatusCode::kResourceExhausted, "too many bytes of requests wait for their answers");
  }
  try {
    ready_.reserve();
    stream.input.push(wire);
  } catch (const std::bad_alloc&) {
    calls_.let_go_of_input(state, held);
    return calls_.fail(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  }
  ready(state);
}

void ReflectionCalls::half_close(CallState& state) {
  if (over(state)) return;
  state.stream->half_closed = true;
  if (state.stream->input.empty() && state.stream->answer == nullptr) calls_.fail(state, StatusCode::kOk, {});
}

// Queues a call with input and no answer on its way.
void ReflectionCalls::ready(CallState& state) {
  StreamState& stream = *state.stream;
  if (stream.stalled || stream.answer != nullptr || stream.input.empty()) return;
  ready_.push({state.index, state.generation});
  stream.stalled = true;
}

void ReflectionCalls::answer_sent(CallState& state) {
  calls_.drop_answer(state);
  if (over(state)) return;
  try {
    ready_.reserve();
  } catch (const std::bad_alloc&) {
    return calls_.fail(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  }
  go_on(state);
}

void ReflectionCalls::go_on(CallState& state) {
  const StreamState& stream = *state.stream;
  if (stream.answer == nullptr && stream.input.empty() && stream.half_closed) {
    return calls_.fail(state, StatusCode::kOk, {});
  }
  ready(state);
}

bool ReflectionCalls::serve() {
  const int64_t end_ns = monotonic_ns() + kTurnNs;
  size_t answers = 0;
  // Calls that are over do not count as answers, but take time too. One that is ready again has its turn later.
  for (size_t left = ready_.size(); left != 0 && answers < kAnswersPerTurn; --left) {
    const Ready next = ready_.pop();
    CallState* state = calls_.find(next.call, next.generation);
    if (state == nullptr || over(*state)) {
      if (monotonic_ns() >= end_ns) break;
      continue;
    }
    ++answers;
    StreamState& stream = *state->stream;
    stream.stalled = false;
    const std::string_view wire = stream.input.front();
    const size_t size = wire.size();
    bool answered = false;
    try {
      ready_.reserve();
      answered = answer(*state, wire);
    } catch (const std::bad_alloc&) {
      calls_.fail(*state, StatusCode::kResourceExhausted, Calls::kNoMemory);
    }
    if (answered && (state = calls_.find(next.call, next.generation)) != nullptr && !over(*state)) {
      stream.input.pop();
      calls_.let_go_of_input(*state, size + WireQueue::kOverhead);
      replies_.consumed(*state->call, 1, size);
      go_on(*state);
    }
    if (monotonic_ns() >= end_ns) break;
  }
  return true;
}

// The reply to the first message of its input. False: the call has ended. Throws std::bad_alloc.
bool ReflectionCalls::answer(CallState& state, std::string_view wire) {
  std::vector<const ReflectionSource*> sources{&reflection_itself()};
  for (const auto& link : links_.attached()) {
    if (describes(*link, state.call->listener)) sources.push_back(link->host().reflection.get());
  }
  if (channelz_ != nullptr && channelz_->offered(state.call->listener)) sources.push_back(&channelz_description());
  std::unique_ptr<ReflectionAnswer> made = ReflectionAnswer::make(wire, sources);
  if (made == nullptr) {
    calls_.fail(state, StatusCode::kInternal, "the request is no ServerReflectionRequest");
    return false;
  }
  requests_->add();
  return calls_.send_answer(state, std::move(made));
}

}  // namespace drover::engine
