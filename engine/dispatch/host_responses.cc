#include "engine/dispatch/host_responses.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "codec/compiler.h"
#include "engine/base/clock.h"
#include "engine/dispatch/long_copy.h"
#include "engine/dispatch/remote_link.h"

namespace drover::engine {
namespace {

constexpr size_t kCallReplyBytes = 2048;  // of a reply that is paid for by the call itself: kCalls of the account
constexpr uint32_t kSlotsPerLane = 256;   // taken from one worker before the host's next one has its turn

// An answer of the call, which runs, waits for time or room.
bool is_put_off(const CallState& state) { return (state.owed & CallState::kRelease) != 0; }

// An answer that was put off came to nothing: its call has ended.
void count_ended(HostLink& link, const CompleteSlot& slot) {
  if (!ResponseReader::is_step(slot)) ++link.failed;
}

}  // namespace

HostResponses::HostResponses(const Options& options, Calls& calls, StreamRequests& requests, ReplySink& replies,
                             ReplyMemory& memory, HostLines& lines, ThreadMetrics& metrics)
    : wait_ns_(options.wait_ns),
      calls_(calls),
      requests_(requests),
      replies_(replies),
      reader_(options.reader, memory),
      lines_(lines),
      metrics_(metrics),
      long_answers_(metrics.counter("drover_long_answers_total", "Replies that were encoded in slices of many turns")),
      postponed_(metrics.counter("drover_replies_postponed_total", "Replies that had to wait for engine memory")),
      refused_(metrics.counter("drover_replies_refused_total", "Replies that found no engine memory in time")) {}

HostResponses::~HostResponses() {
  for (const Counter* counter : {long_answers_, postponed_, refused_}) metrics_.remove(counter);
}

// The host's lanes take turns.
Served HostResponses::serve(HostLink& link, int64_t budget_ns) {
  TurnBudget budget(budget_ns);
  Served served;
  bool go_on = true;
  if (link.has_put_off()) [[unlikely]] {
    go_on = go_on_with_long(link, budget) && retry_postponed(link, budget);
    served.did = !go_on;
  }
  for (uint32_t lanes = link.lanes_this_turn(); go_on && lanes != 0; --lanes) {
    uint32_t worker = link.next_active();
    if (worker == HostLink::kNoLane) continue;
    go_on = take_from(link, worker, budget, &served.did);
  }
  served.more = !go_on;
  served.spent_ns = budget.spent_ns();
  return served;
}

// False: the host's time is over.
bool HostResponses::take_from(HostLink& link, uint32_t worker, TurnBudget& budget, bool* did) {
  RingConsumer& ring = link.lane(worker).responses;
  Slot slot;
  for (uint32_t left = kSlotsPerLane; left != 0 && link.failure() == nullptr && ring.try_pop(slot); --left) {
    *did = true;
    int64_t long_since_ns = take_slot(link, worker, slot);
    // A long answer has begun with one that was found to take long.
    if (long_since_ns != 0 && link.has_long()) [[unlikely]]
      return false;
    if (!budget.go_on(long_since_ns)) return false;
  }
  return true;
}

int64_t HostResponses::take_slot(HostLink& link, uint32_t worker, const Slot& slot) {
  if (slot.type == static_cast<uint8_t>(ResponseSlotType::kComplete)) [[likely]]
    return complete(link, worker, slot_as<CompleteSlot>(slot));
  return take_other_slot(link, worker, slot);
}

DROVER_NOINLINE int64_t HostResponses::take_other_slot(HostLink& link, uint32_t worker, const Slot& slot) {
  switch (static_cast<ResponseSlotType>(slot.type)) {
    case ResponseSlotType::kComplete:
      break;
    case ResponseSlotType::kFinished:
      return finished(link, worker, slot_as<FinishedSlot>(slot)), 0;
    case ResponseSlotType::kMessage:
      return message(link, worker, slot_as<ReplyMessageSlot>(slot));
    case ResponseSlotType::kConsumed:
      return consumed(link, worker, slot_as<ConsumedSlot>(slot)), 0;
  }
  if (slot.type == kLineType) return lines_.take_line(link, worker, slot), 0;
  if (slot.type == kLineCloseType) return lines_.take_close(link, worker, slot), 0;
  return link.fail("it sent a slot of an unknown type"), 0;
}

int64_t HostResponses::complete(HostLink& link, uint32_t worker, const CompleteSlot& slot) {
  CallState* state = calls_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || (state->owed & CallState::kComplete) == 0) {
    return link.fail("it completed a call that this worker does not have"), 0;
  }
  state->owed &= ~CallState::kComplete;
  link.call_completed(worker);
  if ((slot.flags & kCompleteFinished) != 0) {
    state->owed &= ~CallState::kFinished;
    link.call_finished(worker);
    if (state->stream != nullptr) Calls::free_messages(*state);
  }
  if (state->phase == CallState::Phase::kRunning) {
    try {
      if (is_put_off(*state)) [[unlikely]] {  // a message of the stream
        state->stream->put_off.push(slot);
        return 0;
      }
      return answer(*state, slot);
    } catch (const std::bad_alloc&) {
      return fail_for_memory(*state, slot), 0;
    }
  }
  // Too late: the client has its answer, or has left.
  ++link.failed;
  link.release(worker, slot.tx_call, 0, calls_.now_ns());
  calls_.settle(*state);
  return 0;
}

void HostResponses::finished(HostLink& link, uint32_t worker, const FinishedSlot& slot) {
  CallState* state = calls_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker ||
      (state->owed & (CallState::kComplete | CallState::kFinished)) != CallState::kFinished) {
    return link.fail("it finished a call that this worker does not have");
  }
  state->owed &= ~CallState::kFinished;
  link.call_finished(worker);
  if (state->stream != nullptr) Calls::free_messages(*state);
  calls_.settle(*state);
}

// ---- streams

int64_t HostResponses::message(HostLink& link, uint32_t worker, const ReplyMessageSlot& slot) {
  CallState* state = calls_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || (state->owed & CallState::kComplete) == 0) {
    return link.fail("it sent a message of a call that this worker does not have"), 0;
  }
  if (slot.consumed != 0 && (state->stream == nullptr || !requests_.consumed(*state, slot.consumed))) {
    return link.fail("it consumed more messages than it has"), 0;
  }
  if ((state->stream_flags & kMethodReplyStreams) == 0) return headers(*state, slot);
  StreamState& stream = *state->stream;
  if (stream.steps.size() + stream.put_off.size() >= kMaxStreamMessages) {
    return link.fail("it sent more messages of a call than may wait"), 0;
  }
  if (state->phase != CallState::Phase::kRunning) {
    link.release(worker, slot.tx_call, 0, calls_.now_ns());
    return 0;
  }
  const auto step = slot_as<CompleteSlot>(to_slot(slot));
  try {
    if (!is_put_off(*state)) return answer(*state, step);
    stream.put_off.push(step);
  } catch (const std::bad_alloc&) {
    fail_for_memory(*state, step);
  }
  return 0;
}

// Initial metadata of a reply that does not stream.
int64_t HostResponses::headers(CallState& state, const ReplyMessageSlot& slot) {
  HostLink& link = *state.host;
  if (slot.flags != kReplyMessageHeadersOnly || slot.response != 0 || state.headers_sent) {
    return link.fail("it sent a message of a call whose reply does not stream, or initial metadata twice"), 0;
  }
  state.headers_sent = true;
  if (state.phase != CallState::Phase::kRunning) {
    link.release(state.lane, slot.tx_call, 0, calls_.now_ns());
    return 0;
  }
  ResponseReader::Answer answer;
  try {
    answer = reader_.read_headers(state, slot_as<CompleteSlot>(to_slot(slot)));
  } catch (const std::bad_alloc&) {
    return fail_for_memory(state, slot_as<CompleteSlot>(to_slot(slot))), 0;
  }
  link.release(state.lane, slot.tx_call, 0, calls_.now_ns());  // they were copied
  if (answer.reply.ends) {
    calls_.fail_running(state, answer.reply.code, answer.reply.status_message);
  } else {
    replies_.reply(*state.call, answer.reply);  // copies them; `state` may be free now
  }
  return answer.long_since_ns;
}

void HostResponses::consumed(HostLink& link, uint32_t worker, const ConsumedSlot& slot) {
  CallState* state = calls_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || (state->owed & CallState::kFinished) == 0 ||
      state->stream == nullptr || slot.count == 0 || !requests_.consumed(*state, slot.count)) {
    link.fail("it consumed more messages than it has");
  }
}

// What is broken in a message ends the call; what the transport does not copy is a step that it reports later.
void HostResponses::hand_over_step(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer) {
  HostLink& link = *state.host;
  if (answer.reply.ends) {
    link.release(state.lane, slot.tx_call, 0, calls_.now_ns());
    return calls_.fail_running(state, answer.reply.code, answer.reply.status_message);
  }
  state.stream->headers_sent = true;
  StreamState::Step& step = calls_.keep_step(state, slot.tx_call);
  if (step.reply_copy != nullptr) answer.reply.message = {step.reply_copy.get(), 1};
  const uint32_t call = state.index, generation = state.generation;
  const bool copied = replies_.reply(*state.call, answer.reply);
  CallState* still = calls_.find(call, generation);
  if (still == nullptr || still->phase != CallState::Phase::kRunning) return;
  if (copied) return calls_.step_copied(*still);
  if (!charge_step(*still)) replies_.cut_off(*still->call);
}

// A small message is charged only if it stays. False: over a budget.
bool HostResponses::charge_step(CallState& state) {
  StreamState::Step& step = state.stream->steps.back();
  if (step.reply_memory != 0 || step.reply == nullptr || state.payer == nullptr) return true;
  const size_t bytes = step.reply->buffer_bytes();
  if (!state.payer->charge(Resource::kMemory, bytes)) return false;
  step.reply_memory = bytes;
  return true;
}

// What the stream has sent behind an answer that was put off and is done now.
void HostResponses::go_on_with_stream(HostLink& link, uint32_t call, uint32_t generation) {
  while (true) {
    CallState* state = calls_.find(call, generation);
    if (state == nullptr || state->host != &link || state->phase != CallState::Phase::kRunning) return;
    if (state->stream == nullptr || state->stream->put_off.empty() || is_put_off(*state)) return;
    const CompleteSlot slot = state->stream->put_off.pop();
    try {
      answer(*state, slot);
    } catch (const std::bad_alloc&) {
      fail_for_memory(*state, slot);
    }
  }
}

// The host has completed the call, or sent a message of it, and nothing else of it has changed.
void HostResponses::fail_for_memory(CallState& state, const CompleteSlot& slot) {
  if (!ResponseReader::is_step(slot)) ++state.host->failed;
  state.owed &= ~CallState::kRelease;
  state.host->release(state.lane, slot.tx_call, 0, calls_.now_ns());
  calls_.fail_running(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
}

DROVER_INLINE void HostResponses::deliver(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer) {
  const bool small = !answer.lent && answer.reply.message_size <= kCallReplyBytes;
  if (!small && state.payer != nullptr) [[unlikely]] {
    Charge charge = charge_reply(state, slot, answer);
    if (charge == Charge::kNotYet) return;
    if (charge == Charge::kRefused) answer = refuse_reply(state);
  }
  hand_over(state, slot, answer);
}

DROVER_INLINE void HostResponses::hand_over(CallState& state, const CompleteSlot& slot,
                                            ResponseReader::Answer& answer) {
  if (ResponseReader::is_step(slot)) [[unlikely]]
    return hand_over_step(state, slot, answer);
  if (answer.reply.code != StatusCode::kOk) [[unlikely]]
    ++state.host->failed;
  calls_.replied(state);
  if (answer.lent) {
    state.owed |= CallState::kRelease;
    state.tx_call = slot.tx_call;
    state.tx_bytes = answer.reply.message_size;
  } else {
    state.host->release(state.lane, slot.tx_call, answer.reply.message_size, calls_.now_ns());
    calls_.settle(state);
  }
  replies_.reply(*state.call, answer.reply);  // `state` may be free now
}

DROVER_INLINE int64_t HostResponses::answer(CallState& state, const CompleteSlot& slot) {
  ResponseReader::Answer answer = reader_.read(state, slot);
  if (answer.outcome == ResponseReader::Outcome::kReady) [[likely]] {
    deliver(state, slot, answer);
    return answer.long_since_ns;
  }
  return give(state, slot, answer, 0);
}

// The answer, or why there is no answer yet. `until_ns`: of a reply that was postponed before, otherwise 0.
int64_t HostResponses::give(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer,
                            int64_t until_ns) {
  HostLink& link = *state.host;
  switch (answer.outcome) {
    case ResponseReader::Outcome::kReady:
      deliver(state, slot, answer);
      break;
    case ResponseReader::Outcome::kLong:
      long_answers_->add();
      link.long_answer = reader_.begin_long(state, slot);
      link.long_until_ns = until_ns;
      put_off(state, slot);
      break;
    case ResponseReader::Outcome::kNoRoom:
      if (until_ns != 0) {
        link.postponed.push_front({slot, answer.wanted_bytes, until_ns});
      } else {
        postponed_->add();
        link.postponed.push_back({slot, answer.wanted_bytes, calls_.now_ns() + wait_ns_});
      }
      put_off(state, slot);
      break;
  }
  return answer.long_since_ns;
}

// What the reply holds until the client has taken it.
HostResponses::Charge HostResponses::charge_reply(CallState& state, const CompleteSlot& slot,
                                                  ResponseReader::Answer& answer) {
  Account& payer = *state.payer;
  const size_t buffers = state.reply->buffer_bytes();
  if (!payer.charge(Resource::kMemory, buffers)) return Charge::kRefused;
  state.reply_memory = buffers;
  if (!answer.lent) return Charge::kDone;
  const size_t size = answer.reply.message_size;
  if (payer.charge_share(Resource::kLent, size, state.host->host().layout->tx_chunks_of_host().size)) [[likely]] {
    state.reply_lent = size;
    return Charge::kDone;
  }
  return copy_reply(state, slot, answer);
}

// The client has much of tx in use already: other clients' replies need the rest.
HostResponses::Charge HostResponses::copy_reply(CallState& state, const CompleteSlot& slot,
                                                ResponseReader::Answer& answer) {
  const size_t size = answer.reply.message_size;
  if (!state.payer->charge(Resource::kMemory, size)) return Charge::kRefused;
  state.reply_memory += size;
  state.reply_bytes.reset(static_cast<char*>(std::malloc(size)));
  if (state.reply_bytes == nullptr) return Charge::kRefused;
  state.reply_copy = {state.reply_bytes.get(), size};
  if (answer.long_since_ns == 0) answer.long_since_ns = monotonic_ns();
  LongCopy copy(slot, state.reply->pieces(), state.reply_bytes.get());
  if (!copy.step(0)) {
    state.host->long_copy = std::make_unique<LongCopy>(copy);
    put_off(state, slot);
    return Charge::kNotYet;
  }
  answer.reply.message = {&state.reply_copy, 1};
  answer.lent = false;
  return Charge::kDone;
}

ResponseReader::Answer HostResponses::refuse_reply(CallState& state) {
  calls_.drop_reply(state);
  ResponseReader::Answer answer;
  answer.reply.code = StatusCode::kResourceExhausted;
  answer.reply.status_message = "the client does not take its replies: too much of them waits";
  return answer;
}

// ---- answers that take longer than a turn, or find no room

// The answer is owed though the host has completed the call: as with one that is lent, the host gets its memory back
// when the call is over.
void HostResponses::put_off(CallState& state, const CompleteSlot& slot) {
  state.owed |= CallState::kRelease;
  state.tx_call = slot.tx_call;
  state.tx_bytes = 0;
}

// The call whose answer was put off, to be answered now; null if it has ended.
CallState* HostResponses::put_off_call(HostLink& link, const CompleteSlot& slot) {
  CallState* state = calls_.find(slot.call, slot.generation);
  bool waits = state != nullptr && state->host == &link && state->phase == CallState::Phase::kRunning;
  return waits ? state : nullptr;
}

// As the functions that it consists of; false: it is not done, or the host's time is over.
bool HostResponses::go_on_with_long(HostLink& link, TurnBudget& budget) {
  if (link.long_answer != nullptr && !go_on_encoding(link, budget)) return false;
  return link.long_copy == nullptr || go_on_copying(link, budget);
}

bool HostResponses::go_on_encoding(HostLink& link, TurnBudget& budget) {
  if (put_off_call(link, link.long_answer->slot()) == nullptr) {
    count_ended(link, link.long_answer->slot());
    link.long_answer.reset();
    return budget.go_on(calls_.now_ns());
  }
  if (!link.long_answer->step(budget.end_ns())) return false;
  std::unique_ptr<LongAnswer> done = std::move(link.long_answer);
  CallState& state = *put_off_call(link, done->slot());
  state.owed &= ~CallState::kRelease;
  try {
    ResponseReader::Answer answer = reader_.finish(state, *done);
    give(state, done->slot(), answer, link.long_until_ns);
  } catch (const std::bad_alloc&) {
    fail_for_memory(state, done->slot());
  }
  go_on_with_stream(link, done->slot().call, done->slot().generation);
  return budget.go_on(calls_.now_ns());
}

// A call that has ended took the memory of its copy with it.
bool HostResponses::go_on_copying(HostLink& link, TurnBudget& budget) {
  const CompleteSlot slot = link.long_copy->slot();
  CallState* state = put_off_call(link, slot);
  if (state != nullptr && !link.long_copy->step(budget.end_ns())) return false;
  link.long_copy.reset();
  if (state == nullptr) count_ended(link, slot);
  if (state == nullptr) return budget.go_on(calls_.now_ns());
  state->owed &= ~CallState::kRelease;
  try {
    ResponseReader::Answer answer = reader_.copied(*state, slot);
    hand_over(*state, slot, answer);
  } catch (const std::bad_alloc&) {
    fail_for_memory(*state, slot);
  }
  go_on_with_stream(link, slot.call, slot.generation);
  return budget.go_on(calls_.now_ns());
}

bool HostResponses::retry_postponed(HostLink& link, TurnBudget& budget) {
  while (!link.postponed.empty()) {
    HostLink::Postponed first = link.postponed.front();
    CallState* state = put_off_call(link, first.slot);
    bool late = calls_.now_ns() >= first.until_ns;
    if (state != nullptr && !late && reader_.room(link) < first.wanted_bytes) return true;
    link.postponed.pop_front();
    if (state != nullptr) {
      retry(*state, first, late);
    } else {
      count_ended(link, first.slot);
    }
    if (link.has_long() || !budget.go_on(calls_.now_ns())) return false;
  }
  return true;
}

void HostResponses::retry(CallState& state, const HostLink::Postponed& postponed, bool late) {
  HostLink& link = *state.host;
  state.owed &= ~CallState::kRelease;
  try {
    ResponseReader::Answer answer = late ? reader_.no_room() : reader_.read(state, postponed.slot);
    give(state, postponed.slot, answer, postponed.until_ns);
  } catch (const std::bad_alloc&) {
    fail_for_memory(state, postponed.slot);
  }
  go_on_with_stream(link, postponed.slot.call, postponed.slot.generation);
}

}  // namespace drover::engine
