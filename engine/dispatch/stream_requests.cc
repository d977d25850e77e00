#include "engine/dispatch/stream_requests.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/pace.h"

namespace drover::engine {
namespace {

constexpr int64_t kRetryNs = 1'000'000;  // neither a full ring nor rx signals when it drains

constexpr uint32_t kSmallChunks = RxShares::kSmallBytes / kChunkSize;

bool running(const CallState& state) { return state.phase == CallState::Phase::kRunning; }

// The call holds its metadata, what the host has not consumed, and `more` bytes. Throws std::bad_alloc.
void hold_rx(CallState& state, size_t more = 0) {
  Calls::hold_rx(state, *state.host, (state.runs.chunks() + state.stream->chunks_at_host) * kChunkSize + more);
}

}  // namespace

// ---- from the transport

void StreamRequests::message(CallState& state, std::string_view wire, More more) {
  if (!running(state) && state.phase != CallState::Phase::kWaiting) return;  // answered already
  StreamState& stream = *state.stream;
  if (more == More::kLast) stream.half_closed = true;
  const bool first = running(state) && stream.input.empty() && stream.at_host.size() < kMaxStreamMessages;
  const bool large = wire.size() >= LongParses::kLeastBytes;
  try {
    if (first && !large && push(state, wire, stream.half_closed)) return;
    if (first && !running(state)) return;  // refused
    keep(state, wire);
    if (first && large && running(state)) give(state);
  } catch (const std::bad_alloc&) {
    calls_.fail_running(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  }
}

void StreamRequests::half_close(CallState& state) {
  state.stream->half_closed = true;
  if (running(state)) give(state);
}

void StreamRequests::keep(CallState& state, std::string_view wire) {
  if (!calls_.hold_input(state, wire.size() + WireQueue::kOverhead)) {
    return calls_.fail_running(state, StatusCode::kResourceExhausted,
                               "too many bytes of requests wait for the service");
  }
  try {
    state.stream->input.push(wire);
  } catch (const std::bad_alloc&) {
    calls_.let_go_of_input(state, wire.size() + WireQueue::kOverhead);
    throw;
  }
}

// ---- to the host

// As much as it has room for; beyond kGivenAtOnce, the rest in later turns.
void StreamRequests::give(CallState& state) {
  StreamState& stream = *state.stream;
  size_t given = 0;
  try {
    while (!stream.input.empty()) {
      if (stream.at_host.size() == kMaxStreamMessages || state.parse != nullptr) return;
      if (given >= kGivenAtOnce) return stall(state);
      const std::string_view wire = stream.input.front();
      const size_t size = wire.size() + WireQueue::kOverhead;
      if (!push(state, wire, stream.half_closed && stream.input.messages() == 1)) return;
      stream.input.pop();
      calls_.let_go_of_input(state, size);
      given += size;
    }
  } catch (const std::bad_alloc&) {
    return calls_.fail_running(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  }
  if (!stream.half_closed || stream.told_last) return;
  if (!state.host->has_room(state.lane)) return stall(state);
  tell(state, 0, true);
}

// False: no room for now, the message is being parsed, or the call has ended.
bool StreamRequests::push(CallState& state, std::string_view wire, bool last) {
  HostLink& link = *state.host;
  StreamState& stream = *state.stream;
  if (!link.has_room(state.lane) || Calls::holds_its_share(state, link, wire.size())) return stall(state), false;
  stream.at_host.reserve();
  BuiltRequest built;
  if (wire.size() < LongParses::kLeastBytes) [[likely]] {
    built = build_message(link, link.host().methods[state.method], wire);
  } else {
    const LongParse::Request request{&state, true, &link, state.method, state.lane, wire, false};
    const LongParses::Begun begun = calls_.parses().begin(request, &built);
    if (begun == LongParses::Begun::kLater) return hold_rx(state, LongParse::least_rx(request)), false;
    if (begun == LongParses::Begun::kNoMemory) throw std::bad_alloc();
  }
  if (!built.ok()) [[unlikely]]
    return refuse(state, built);
  pushed(state, built, wire.size(), last);
  return true;
}

// at_host has room.
void StreamRequests::pushed(CallState& state, const BuiltRequest& built, size_t wire_bytes, bool last) {
  StreamState& stream = *state.stream;
  RunList runs;
  runs.push(built.run);
  for (size_t i = 0; i < built.more.size(); ++i) runs.push(built.more[i]);
  stream.chunks_at_host += built.chunks();
  stream.at_host.push({std::move(runs), static_cast<uint32_t>(wire_bytes)});
  if (stream.chunks_at_host > kSmallChunks || state.host->rx_is_scarce()) [[unlikely]]
    hold_rx(state);
  stream.stalled_since_ns = 0;
  tell(state, built.object, last);
}

bool StreamRequests::parsed(CallState& state, LongParse& parse) {
  HostLink& link = *parse.request().link;
  StreamState& stream = *state.stream;
  if (link.gone || link.failure() != nullptr) return true;  // the call is about to be told
  if (!parse.built().ok()) return refuse(state, parse.built()), true;
  if (!link.has_room(state.lane)) {
    if (calls_.now_ns() - parse.over_since_ns <= wait_ns_) return false;
    return fail_for_room(state), true;
  }
  stream.at_host.reserve();
  const size_t bytes = parse.request().wire.size();
  const BuiltRequest built = std::exchange(parse.built(), BuiltRequest());
  pushed(state, built, bytes, stream.half_closed && stream.input.messages() == 1);
  stream.input.pop();
  calls_.let_go_of_input(state, bytes + WireQueue::kOverhead);
  give(state);
  return true;
}

// The next slot of the call. `object`: region offset of a message; 0: none.
void StreamRequests::tell(CallState& state, uint64_t object, bool last) {
  state.stream->told_last = last;
  RequestMessageSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kMessage);
  slot.flags = last ? kRequestMessageLast : 0;
  slot.call = state.index;
  slot.generation = state.generation;
  slot.request = object;
  state.host->push_message(state.lane, slot);
}

// As push: always false. The call goes on if the message may find room later.
bool StreamRequests::refuse(CallState& state, const BuiltRequest& built) {
  if (state.rx_held != 0) hold_rx(state);
  ChunkPool& pool = state.host->rx();
  uint32_t own = 0;
  for (size_t i = 0; i < state.runs.size(); ++i) own += state.runs[i].chunks;
  const bool never = pool.free_chunks() + own == pool.total_chunks();
  if (built.no_memory && !never) return stall_for_memory(state), false;
  const Status why = built.error();
  calls_.fail_running(state, why.code, why.message);
  return false;
}

// ---- stalled input

void StreamRequests::stall(CallState& state) {
  StreamState& stream = *state.stream;
  if (stream.stalled_since_ns == 0 || !stream.at_host.empty()) stream.stalled_since_ns = calls_.now_ns();
  if (stream.stalled) return;
  stalled_.push({state.index, state.generation});
  stream.stalled = true;
}

// A large message that begins to be parsed again is not stalled meanwhile, but the time since it first was counts on.
void StreamRequests::stall_for_memory(CallState& state) {
  const StreamState& stream = *state.stream;
  const bool moves = stream.stalled_since_ns == 0 || !stream.at_host.empty();
  if (!moves && calls_.now_ns() - stream.stalled_since_ns > wait_ns_) return fail_for_room(state);
  stall(state);
}

void StreamRequests::fail_for_room(CallState& state) {
  calls_.fail_running(state, StatusCode::kResourceExhausted, "the service had no room for a message in time");
}

bool StreamRequests::serve() {
  if (stalled_.empty()) [[likely]]
    return false;
  bool did = false;
  Pace pace;
  pace.run_until(monotonic_ns() + Calls::kServeNs);
  for (size_t left = std::min(stalled_.size(), kStalledPerTurn); left != 0 && pace.go_on(); --left) {
    const Stalled next = stalled_.pop();
    CallState* state = calls_.find(next.call, next.generation);
    if (state == nullptr || !running(*state)) continue;
    pace.spend(std::min(state->stream->input.size(), kGivenAtOnce) / kBytesAUnit);
    did |= retry(*state);
  }
  return did;
}

bool StreamRequests::retry(CallState& state) {
  StreamState& stream = *state.stream;
  const uint32_t before = stream.input.messages();
  stream.stalled = false;
  give(state);
  if (!running(state) || !stream.stalled) return true;
  if (calls_.now_ns() - stream.stalled_since_ns > wait_ns_) fail_for_room(state);
  return stream.input.messages() != before;
}

int64_t StreamRequests::next_ns() const { return stalled_.empty() ? kNoDeadline : calls_.now_ns() + kRetryNs; }

// ---- from the host

bool StreamRequests::consumed(CallState& state, uint32_t count) {
  StreamState& stream = *state.stream;
  if (count > stream.at_host.size()) return false;
  size_t bytes = 0;
  for (uint32_t left = count; left != 0; --left) {
    StreamState::AtHost message = stream.at_host.pop();
    stream.chunks_at_host -= message.runs.chunks();
    message.runs.free_all(state.host->rx());
    bytes += message.bytes;
  }
  if (state.rx_held != 0 && state.parse == nullptr) [[unlikely]]
    hold_rx(state);
  if (!running(state)) return true;
  replies_.consumed(*state.call, count, bytes);
  give(state);
  return true;
}

}  // namespace drover::engine
