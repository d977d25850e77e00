#include "host/answers.h"

#include <utility>

#include "channel/doorbell.h"
#include "host/async_call.h"

namespace drover::host {

bool Answers::after_handler(Call* call) {
  if (call->stream != nullptr) [[unlikely]]
    return p_.streams.after_handler(call);
  if (call->method->kind == grpc::internal::Method::Kind::kSync) return complete(call);
  bool finished = call->bind_reactor();
  if (call->initial_metadata_asked) [[unlikely]] {
    // Before the answer, since OnDone has to come last.
    call->initial_metadata_asked = false;
    if (finished) {
      call->finish_event.kind = CallEvent::Kind::kFinished;
      p_.inbox.post(call->finish_event);
    }
    if (!after_initial_metadata(call)) return false;
    if (finished) return true;
  } else if (finished) {
    return complete(call);
  }
  // Cancelled while the handler ran on a thread that had lost the lead.
  if (call->cancelled.load(std::memory_order_relaxed) && !call->cancel_seen) return cancel(call);
  return true;
}

// ---- initial metadata

// Before the reply of a call without a stream; with it, if there is no room in tx now.
void Answers::send_headers(Call* call) {
  uint64_t trailer = 0;
  if (gone() || call->completed || call->initial_metadata_sent || call->cancelled.load(std::memory_order_relaxed) ||
      !call->put_headers(&trailer)) {
    return;
  }
  ReplyMessageSlot slot{};
  slot.type = static_cast<uint8_t>(ResponseSlotType::kMessage);
  slot.flags = kReplyMessageHeadersOnly;
  slot.compression = call->compression();
  slot.call = call->engine_call;
  slot.generation = call->generation;
  slot.tx_call = kHeadersBit | call->id;
  slot.trailer = trailer;
  p_.channels.push(call->engine_thread, to_slot(slot));
}

bool Answers::after_initial_metadata(Call* call) {
  if (call->interception != nullptr && !std::exchange(call->interception->headers_seen, true)) [[unlikely]] {
    call->interception->headers_run = true;
    const Intercepted ran = p_.worker.intercept(
        call, call->initial_metadata_event, CallEvent::Kind::kHeadersIntercepted,
        [call](Resume resume) { return call->interception->sends_initial_metadata(std::move(resume)); });
    if (ran != Intercepted::kDone) return ran == Intercepted::kLater;
    call->interception->headers_run = false;
  }
  send_headers(call);
  if (call->is_async()) return call->async->headers_sent(), true;
  if (!call->has_user_reactor()) return true;  // no reactor to call
  ++call->reactions_running;
  if (!p_.lead.run([call] { static_cast<grpc::ServerUnaryReactor*>(call->reactor)->OnSendInitialMetadataDone(true); },
                   call->initial_metadata_event, CallEvent::Kind::kReactionReturned)) {
    return false;
  }
  --call->reactions_running;
  return !call->completed || call->reactions_running != 0 || run_done(call);
}

// On another thread, or later; meanwhile the answer may have come.
bool Answers::headers_intercepted(Call* call) {
  call->interception->headers_run = false;
  if (std::exchange(call->interception->end_waits, false)) {
    call->finish_event.kind = CallEvent::Kind::kFinished;
    p_.inbox.post(call->finish_event);
  }
  if (!after_initial_metadata(call)) return false;
  // Cancelled meanwhile, as after_handler has it.
  return call->completed || call->cancel_seen || !call->cancelled.load(std::memory_order_relaxed) || cancel(call);
}

// ---- cancellation

bool Answers::cancel(Call* call) {
  call->cancelled.store(true, std::memory_order_release);
  if (call->cancel_seen || call->completed) return true;
  if (call->is_async()) [[unlikely]]
    return p_.asynchronous.cancel(call);
  if (call->stream != nullptr) [[unlikely]]
    return p_.streams.cancel(call);
  if (call->method->kind == grpc::internal::Method::Kind::kSync) {
    call->cancel_seen = true;
    return true;
  }
  if (!call->bound || call->reactor == nullptr) return true;  // after_handler looks again
  call->cancel_seen = true;
  if (!call->has_user_reactor()) return true;
  ++call->reactions_running;
  if (!p_.lead.run([call] { call->reactor->OnCancel(); }, call->cancel_event, CallEvent::Kind::kReactionReturned)) {
    return false;
  }
  --call->reactions_running;
  return !call->completed || call->reactions_running != 0 || run_done(call);
}

bool Answers::reaction_returned(Call* call) {
  --call->reactions_running;
  // Cancelled before the reactor was bound, by the thread that lost the lead in its first reaction.
  if (!call->completed && !call->cancel_seen && call->cancelled.load(std::memory_order_relaxed)) return cancel(call);
  return !call->completed || call->reactions_running != 0 || run_done(call);
}

// ---- the answer

bool Answers::complete(Call* call) {
  if (call->interception != nullptr && !call->interception->end_seen) [[unlikely]] {
    if (call->interception->headers_run) return call->interception->end_waits = true;
    call->interception->end_seen = true;
    const Intercepted ran =
        p_.worker.intercept(call, call->intercept_event, CallEvent::Kind::kEndIntercepted,
                            [call](Resume resume) { return call->interception->sends_end(std::move(resume)); });
    if (ran != Intercepted::kDone) return ran == Intercepted::kLater;
  }
  if (!gone()) [[likely]] {
    if (!send_answer(call)) return true;  // waits for memory
  } else {
    call->cancelled.store(true, std::memory_order_release);  // the application is told that it was not sent
  }
  call->completed = true;
  if (call->interception != nullptr) [[unlikely]] {
    ++call->reactions_running;  // the call is not over before they are
    const Intercepted ran =
        p_.worker.intercept(call, call->intercept_event, CallEvent::Kind::kCloseIntercepted,
                            [call](Resume resume) { return call->interception->closed(std::move(resume)); });
    if (ran != Intercepted::kDone) return ran == Intercepted::kLater;
    --call->reactions_running;
  }
  return completed(call);
}

// False: there is no room in tx, and retry_waiting tries again.
bool Answers::send_answer(Call* call) {
  uint64_t response = 0, trailer = 0;
  if (!call->prepare_answer(&response, &trailer)) [[unlikely]] {
    int64_t now = monotonic_ns();
    if (call->memory_deadline_ns == 0) call->memory_deadline_ns = now + p_.link.reply_memory_wait_ns;
    if (now < call->memory_deadline_ns) {
      waiting_for_memory_.push_back(call);
      return false;
    }
    call->give_up_reply();
    response = trailer = 0;
  }
  call->memory_deadline_ns = 0;
  CompleteSlot slot{};
  slot.type = static_cast<uint8_t>(ResponseSlotType::kComplete);
  slot.flags = finishes_later(*call) ? 0 : kCompleteFinished;
  if (call->no_room) slot.flags |= kCompleteNoRoom;
  slot.call = call->engine_call;
  slot.generation = call->generation;
  slot.tx_call = call->id;
  slot.status = static_cast<uint32_t>(call->status.error_code());
  slot.compression = call->compression();
  slot.response = response;
  slot.trailer = trailer;
  if ((slot.flags & kCompleteFinished) != 0) forget_request(call);
  p_.channels.push(call->engine_thread, to_slot(slot));
  return true;
}

bool Answers::close_intercepted(Call* call) {
  --call->reactions_running;
  return completed(call);
}

// Reactors and interceptors may look at the request after the answer: FINISHED comes behind COMPLETE, not with it.
bool Answers::finishes_later(const Call& call) {
  return (call.has_user_reactor() && !call.is_async()) || call.interception != nullptr;
}

void Answers::push_finished(const Call& call) {
  FinishedSlot slot{};
  slot.type = static_cast<uint8_t>(ResponseSlotType::kFinished);
  slot.call = call.engine_call;
  slot.generation = call.generation;
  p_.channels.push(call.engine_thread, to_slot(slot));
}

// The engine may give the request's memory to another call as soon as it is told. A call that cannot be has no
// AsyncCall yet.
void Answers::forget_request(Call* call) {
  if (call->is_async() && call->async != nullptr) [[unlikely]]
    call->async->unbind_context();
  call->forget_request();
}

bool Answers::completed(Call* call) {
  if (!call->has_user_reactor()) [[likely]] {
    if (gone() || finishes_later(*call)) [[unlikely]] {
      forget_request(call);
      if (!gone()) push_finished(*call);
    }
    end(call);
    return true;
  }
  if (call->stream != nullptr) [[unlikely]]
    return p_.streams.after_complete(call);
  return call->reactions_running != 0 || run_done(call);
}

bool Answers::run_done(Call* call) {
  if (!call->has_user_reactor()) return true;
  if (!p_.lead.run([call] { call->reactor->OnDone(); }, call->handler_event, CallEvent::Kind::kDoneReturned)) {
    return false;
  }
  end_call(call);
  return true;
}

void Answers::end_call(Call* call) {
  forget_request(call);
  if (finishes_later(*call) && !gone()) push_finished(*call);
  end(call);
}

void Answers::end(Call* call) {
  if (call->is_async()) [[unlikely]]
    p_.asynchronous.ended(call);
  p_.calls.end(call);
  recycle_if_over(call);
}

bool Answers::retry_waiting(bool* worked) {
  for (size_t n = waiting_for_memory_.size(); n > 0; --n) {
    Call* call = waiting_for_memory_.front();
    waiting_for_memory_.pop_front();
    if (!complete(call)) return false;
    if (call->completed) *worked = true;
  }
  return true;
}

// ---- the end of its memory

void Answers::release(uint32_t tx_call) {
  if ((tx_call & kHeadersBit) != 0) [[unlikely]] {
    const uint32_t id = tx_call & ~kHeadersBit;
    if (id >= p_.calls.size() || !p_.calls.at(id)->headers_with_engine) {
      return p_.link.report_broken("a RELEASE of initial metadata that were not sent");
    }
    p_.calls.at(id)->free_headers();
    return recycle_if_over(p_.calls.at(id));
  }
  if (tx_call >= p_.calls.size() || !p_.calls.at(tx_call)->completed || p_.calls.at(tx_call)->released) {
    return p_.link.report_broken("a RELEASE of a call that was not completed");
  }
  Call* call = p_.calls.at(tx_call);
  call->released = true;
  recycle_if_over(call);
}

void Answers::recycle_if_over(Call* call) {
  if (!call->finished || !call->released || call->headers_with_engine)
    return;  // with a dead engine, the whole Worker is freed instead
  if (call->stream != nullptr && !p_.streams.detach(call)) [[unlikely]]
    return;
  p_.calls.put_back(call);
}

}  // namespace drover::host
