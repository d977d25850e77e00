#include "engine/dispatch/host_responses.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "codec/compiler.h"
#include "engine/base/clock.h"
#include "engine/dispatch/long_copy.h"

namespace drover::engine {
namespace {

constexpr size_t kCallReplyBytes = 2048;  // of a reply that is paid for by the call itself: kCalls of the account
constexpr uint32_t kSlotsPerLane = 256;   // taken from one worker before the host's next one has its turn

}  // namespace

HostResponses::HostResponses(const Options& options, Calls& calls, ReplySink& replies, ReplyMemory& memory,
                             LineSwitch<HostLink>& lines, ThreadMetrics& metrics)
    : wait_ns_(options.wait_ns),
      calls_(calls),
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
  switch (static_cast<ResponseSlotType>(slot.type)) {
    case ResponseSlotType::kComplete:
      return complete(link, worker, slot_as<CompleteSlot>(slot));
    case ResponseSlotType::kFinished:
      return finished(link, worker, slot_as<FinishedSlot>(slot)), 0;
  }
  return take_other_slot(link, worker, slot), 0;
}

DROVER_NOINLINE void HostResponses::take_other_slot(HostLink& link, uint32_t worker, const Slot& slot) {
  if (slot.type == kLineType) return lines_.take_line(link, worker, slot);
  if (slot.type == kLineCloseType) return lines_.take_close(link, worker, slot);
  link.fail("it sent a slot of an unknown type");
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
  }
  if (state->phase == CallState::Phase::kRunning) {
    try {
      return answer(*state, slot);
    } catch (const std::bad_alloc&) {
      return fail_for_memory(*state, slot), 0;
    }
  }
  // Too late: the client has its answer, or has left.
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
  calls_.settle(*state);
}

// The host has completed the call, and nothing else of it has changed.
void HostResponses::fail_for_memory(CallState& state, const CompleteSlot& slot) {
  state.owed &= ~CallState::kRelease;
  state.host->release(state.lane, slot.tx_call, 0, calls_.now_ns());
  calls_.fail(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
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
                                            const ResponseReader::Answer& answer) {
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
  return budget.go_on(calls_.now_ns());
}

// A call that has ended took the memory of its copy with it.
bool HostResponses::go_on_copying(HostLink& link, TurnBudget& budget) {
  const CompleteSlot slot = link.long_copy->slot();
  CallState* state = put_off_call(link, slot);
  if (state != nullptr && !link.long_copy->step(budget.end_ns())) return false;
  link.long_copy.reset();
  if (state == nullptr) return budget.go_on(calls_.now_ns());
  state->owed &= ~CallState::kRelease;
  try {
    hand_over(*state, slot, reader_.copied(*state, slot));
  } catch (const std::bad_alloc&) {
    fail_for_memory(*state, slot);
  }
  return budget.go_on(calls_.now_ns());
}

bool HostResponses::retry_postponed(HostLink& link, TurnBudget& budget) {
  while (!link.postponed.empty()) {
    HostLink::Postponed first = link.postponed.front();
    CallState* state = put_off_call(link, first.slot);
    bool late = calls_.now_ns() >= first.until_ns;
    if (state != nullptr && !late && reader_.room(link) < first.wanted_bytes) return true;
    link.postponed.pop_front();
    if (state != nullptr) retry(*state, first, late);
    if (link.has_long() || !budget.go_on(calls_.now_ns())) return false;
  }
  return true;
}

void HostResponses::retry(CallState& state, const HostLink::Postponed& postponed, bool late) {
  state.owed &= ~CallState::kRelease;
  try {
    ResponseReader::Answer answer = late ? reader_.no_room() : reader_.read(state, postponed.slot);
    give(state, postponed.slot, answer, postponed.until_ns);
  } catch (const std::bad_alloc&) {
    fail_for_memory(state, postponed.slot);
  }
}

}  // namespace drover::engine
