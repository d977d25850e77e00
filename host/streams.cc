#include "host/streams.h"

#include <utility>

#include "generated/generated_message.h"
#include "host/call.h"

namespace drover::host {
namespace {

using grpc::internal::StreamReactor;

// The call whose application code runs on this thread, and the phase of its worker in which it was the leader.
struct Here {
  StreamWorker* worker = nullptr;
  Call* call = nullptr;
  uint64_t phase = 0;
};
thread_local Here here;

bool leads_here(const Call* call) { return here.call == call && call != nullptr && here.worker->leads(here.phase); }

bool is_sync(const Call* call) { return call->method->kind == grpc::internal::Method::Kind::kSync; }

}  // namespace

// ---- calls

void Streams::attach(Call* call) {
  Stream* stream = nullptr;
  if (!free_.empty()) {
    stream = free_.back();
    free_.pop_back();
  } else {
    streams_.push_back(std::make_unique<Stream>(link_, static_cast<uint32_t>(streams_.size())));
    calls_.push_back(nullptr);
    stream = streams_.back().get();
  }
  calls_[stream->index] = call;
  call->stream = stream;
  stream->look_event = {nullptr, call, CallEvent::Kind::kLookAsked};
  stream->read_event = {nullptr, call, CallEvent::Kind::kReactionReturned};
  stream->write_event = {nullptr, call, CallEvent::Kind::kReactionReturned};
}

bool Streams::detach(Call* call) {
  Stream* stream = call->stream;
  if (!stream->replies.all_released()) return false;
  stream->requests.reset();
  stream->replies.reset();
  stream->listed = false;
  stream->metadata_wanted = stream->read_wanted = stream->write_wanted = stream->finish_wanted = false;
  stream->write_reported = stream->waits_for_memory = stream->metadata_started = false;
  stream->reads = stream->writes = stream->handler_returned = stream->done_started = false;
  stream->write_intercepted = stream->metadata_intercepted = stream->metadata_intercepts = false;
  stream->read_intercepted = stream->write_over = false;
  stream->silent_reads = 0;
  stream->memory_deadline_ns = 0;
  stream->failure = grpc::Status();
  calls_[stream->index] = nullptr;
  call->initial_metadata_sent = false;
  free_.push_back(stream);
  call->stream = nullptr;
  return true;
}

template <typename Code>
bool Streams::run(Call* call, Code&& code, CallEvent& event, CallEvent::Kind kind) {
  const Here before = std::exchange(here, {&worker_, call, worker_.begin_application(call)});
  code();
  uint64_t phase = std::exchange(here, before).phase;
  if (worker_.end_application(phase)) [[likely]]
    return true;
  event.kind = kind;
  call->post(event);
  return false;
}

// The event's kind is stored first: it may be posted, and served, before `run` has returned.
Intercepted StreamWorker::intercept(Call* call, CallEvent& event, CallEvent::Kind kind,
                                    const std::function<bool(Resume)>& run) {
  event.kind = kind;
  Call* const streaming = call->stream != nullptr ? call : nullptr;
  const Here before = std::exchange(here, {this, streaming, begin_application(streaming)});
  const bool done = run([call, &event] { call->post(event); });
  const uint64_t phase = std::exchange(here, before).phase;
  if (end_application(phase)) return done ? Intercepted::kDone : Intercepted::kLater;
  if (done) call->post(event);
  return Intercepted::kLost;
}

bool Streams::start(Call* call) {
  if (!call->begin_stream()) {
    call->status = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "");
    call->no_room = true;
    return worker_.complete(call);
  }
  if (call->interception != nullptr) [[unlikely]] {
    call->interception->call_seen = true;
    const Intercepted ran = worker_.intercept(call, call->intercept_event, CallEvent::Kind::kCallIntercepted,
                                              [call](Resume resume) { return call->intercept(std::move(resume)); });
    if (ran != Intercepted::kDone) return ran == Intercepted::kLater;
  }
  return run_handler(call);
}

bool Streams::run_handler(Call* call) {
  return run(
             call, [call] { call->run_handler(); }, call->handler_event, CallEvent::Kind::kHandlerReturned) &&
         after_handler(call) && worker_.serve_deferred();
}

bool Streams::after_handler(Call* call) {
  Stream& stream = *call->stream;
  if (is_sync(call)) {
    stream.handler_returned = true;
    return stream.look_posted.load(std::memory_order_acquire) || finish_sync(call);
  }
  call->bound = true;
  if (call->reactor == nullptr) return worker_.complete(call);
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  reactor.call_ = call;
  reactor.asked_.fetch_and(~StreamReactor::kUnbound, std::memory_order_acq_rel);
  if (call->cancelled.load(std::memory_order_relaxed) && !call->cancel_seen) return cancel(call);
  return settle(call);
}

bool Streams::finish_sync(Call* call) {
  flush(call);
  if (!call->stream->failure.ok()) call->status = call->stream->failure;
  return worker_.complete(call);
}

bool Streams::cancel(Call* call) {
  if (is_sync(call)) {
    call->cancel_seen = true;
    call->stream->parking.notify();
    return true;
  }
  if (!call->bound || call->reactor == nullptr) return true;  // after_handler looks again
  call->cancel_seen = true;
  ++call->reactions_running;
  if (!run(call, [call] { call->reactor->OnCancel(); }, call->cancel_event, CallEvent::Kind::kReactionReturned)) {
    return false;
  }
  --call->reactions_running;
  return settle(call);
}

bool Streams::resume(Call* call) {
  if (!is_sync(call)) return settle(call);
  flush(call);
  return true;
}

bool Streams::looked_for(Call* call) {
  Stream& stream = *call->stream;
  if (!is_sync(call)) {
    take_asked(call, true);
    return settle(call);
  }
  stream.look_posted.store(false, std::memory_order_seq_cst);
  flush(call);
  return !stream.handler_returned || finish_sync(call);
}

// ---- what comes from the engine

void Streams::arrive(Call* call, const RequestMessageSlot& slot) {
  bool last = (slot.flags & kRequestMessageLast) != 0;
  if (!call->method->request_streams) return link_.report_broken("a MESSAGE for a call that does not stream");
  if (slot.request == 0 && !last) return link_.report_broken("a MESSAGE without a message");
  if (slot.request != 0 &&
      (slot.request % 8 != 0 || link_.region.at_rx(slot.request, call->method->message_size) == nullptr)) {
    return link_.report_broken("a MESSAGE that leads out of rx");
  }
  if (const char* wrong = call->stream->requests.arrive(slot.request, last)) {
    return link_.report_broken(wrong);
  }
  if (is_sync(call)) {
    call->stream->parking.notify();
  } else {
    list(call);
  }
}

bool Streams::release(uint32_t tx_call) {
  uint32_t index = (tx_call & ~kMessageBit) / kMaxStreamMessages;
  if (index >= streams_.size() || calls_[index] == nullptr) return false;
  Call* call = calls_[index];
  if (!call->stream->replies.release(tx_call % kMaxStreamMessages)) return false;
  if (call->finished) {
    worker_.recycle_if_over(call);
  } else if (is_sync(call)) {
    call->stream->parking.notify();
  } else if (call->stream->write_wanted) {
    list(call);
  }
  return true;
}

void Streams::list(Call* call) {
  if (call->stream->listed) return;
  call->stream->listed = true;
  listed_.push_back(call);
}

bool Streams::serve(bool* worked) {
  *worked = true;
  for (size_t n = listed_.size(); n > 0 && !listed_.empty(); --n) {
    Call* call = listed_.front();
    listed_.pop_front();
    if (call->stream == nullptr) continue;  // over meanwhile
    call->stream->listed = false;
    if (!settle(call)) return false;
  }
  return true;
}

bool Streams::retry_memory(bool* worked) {
  for (size_t n = waiting_for_memory_.size(); n > 0 && !waiting_for_memory_.empty(); --n) {
    Call* call = waiting_for_memory_.front();
    waiting_for_memory_.pop_front();
    if (call->stream == nullptr || !call->stream->waits_for_memory) continue;
    call->stream->waits_for_memory = false;
    if (!settle(call)) return false;
    *worked = *worked || call->stream == nullptr || !call->stream->waits_for_memory;
  }
  return true;
}

// ---- what goes to the engine

void Streams::push_replies(Call* call) {
  Stream& stream = *call->stream;
  ReplyQueue::Outgoing out;
  while (stream.replies.next(&out)) {
    ReplyMessageSlot slot{};
    slot.type = static_cast<uint8_t>(ResponseSlotType::kMessage);
    slot.flags = (out.headers_only ? kReplyMessageHeadersOnly : 0) | (out.as_it_is ? kReplyMessageAsItIs : 0);
    slot.compression = out.compression;
    slot.call = call->engine_call;
    slot.generation = call->generation;
    slot.tx_call = kMessageBit | stream.index * kMaxStreamMessages | out.index;
    slot.consumed = stream.requests.announce();
    slot.response = out.response;
    slot.trailer = out.trailer;
    worker_.push(call->engine_thread, to_slot(slot));
  }
}

void Streams::push_consumed(Call* call) {
  uint32_t count = call->stream->requests.announce();
  if (count == 0 || call->completed) return;
  ConsumedSlot slot{};
  slot.type = static_cast<uint8_t>(ResponseSlotType::kConsumed);
  slot.call = call->engine_call;
  slot.generation = call->generation;
  slot.count = count;
  worker_.push(call->engine_thread, to_slot(slot));
}

void Streams::flush(Call* call) {
  if (link_.gone.load(std::memory_order_relaxed)) return;
  push_replies(call);
  push_consumed(call);
}

// ---- reactions

void Streams::take_asked(Call* call, bool from_event) {
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  Stream& stream = *call->stream;
  uint32_t asked = reactor.asked_.load(std::memory_order_acquire);
  // With kPosted set an event is on its way, whose sender still uses the call.
  do {
    if (asked == 0 || ((asked & StreamReactor::kPosted) != 0 && !from_event)) return;
  } while (!reactor.asked_.compare_exchange_weak(asked, 0, std::memory_order_acq_rel, std::memory_order_acquire));
  if ((asked & StreamReactor::kMetadataAsked) != 0) stream.metadata_wanted = true;
  if ((asked & StreamReactor::kReadAsked) != 0) stream.read_wanted = true;
  if ((asked & StreamReactor::kWriteAsked) != 0) stream.write_wanted = stream.write_reported = true;
  if ((asked & StreamReactor::kLastWriteAsked) != 0) {
    stream.write_wanted = true;
    stream.write_reported = false;
  }
  if ((asked & StreamReactor::kFinishAsked) != 0) stream.finish_wanted = true;
}

// `*running` is true as long as the reaction runs.
bool Streams::react(Call* call, bool* running, CallEvent& event, void (*code)(StreamReactor&, bool), bool ok) {
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  *running = true;
  ++call->reactions_running;
  if (!run(call, [&] { code(reactor, ok); }, event, CallEvent::Kind::kReactionReturned)) return false;
  --call->reactions_running;
  *running = false;
  return true;
}

// The same for interceptors; true also if they have not all proceeded.
bool Streams::intercept(Call* call, bool* running, CallEvent& event, const std::function<bool(Resume)>& run) {
  *running = true;
  ++call->reactions_running;
  const Intercepted ran = worker_.intercept(call, event, CallEvent::Kind::kReactionReturned, run);
  if (ran != Intercepted::kDone) return ran == Intercepted::kLater;
  --call->reactions_running;
  *running = false;
  return true;
}

bool Streams::reaction_returned(Call* call, CallEvent& event) {
  Stream& stream = *call->stream;
  --call->reactions_running;
  if (&event == &stream.read_event) stream.reads = false;
  if (&event == &stream.write_event) stream.writes = false;
  if (&event == &call->initial_metadata_event) stream.metadata_intercepts = false;
  if (!call->completed && !call->cancel_seen && call->cancelled.load(std::memory_order_relaxed)) return cancel(call);
  return settle(call);
}

// Does all that can be done for a call with a reactor.
bool Streams::settle(Call* call) {
  if (!call->bound || is_sync(call) || call->reactor == nullptr) return true;
  Stream& stream = *call->stream;
  if (stream.done_started) return true;
  for (bool moved = true; moved;) {
    moved = false;
    take_asked(call, false);
    if (stream.metadata_wanted && !settle_metadata(call, &moved)) return false;
    if (stream.read_wanted && !settle_read(call, &moved)) return false;
    if (stream.write_wanted && !settle_write(call, &moved)) return false;
    const bool intercepted = call->interception != nullptr && (stream.writes || stream.metadata_intercepts);
    if (!moved && stream.finish_wanted && !stream.write_wanted && !intercepted) {
      stream.finish_wanted = false;
      auto& reactor = static_cast<StreamReactor&>(*call->reactor);
      call->status = stream.failure.ok() ? std::move(reactor.status_) : stream.failure;
      return worker_.complete(call);  // and after_complete from there
    }
  }
  if (!call->completed) {
    if (!link_.gone.load(std::memory_order_relaxed)) push_consumed(call);
    return true;
  }
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  if (call->reactions_running != 0 || reactor.asked_.load(std::memory_order_acquire) != 0) return true;
  stream.done_started = true;
  return worker_.run_done(call);
}

bool Streams::settle_metadata(Call* call, bool* moved) {
  Stream& stream = *call->stream;
  bool over = call->completed || call->cancelled.load(std::memory_order_relaxed);
  bool can = over || call->is_async() || stream.replies.has_room();
  if (!can || stream.metadata_started || stream.metadata_intercepts) return true;
  if (call->interception != nullptr && !std::exchange(stream.metadata_intercepted, true)) [[unlikely]] {
    *moved = true;
    return intercept(call, &stream.metadata_intercepts, call->initial_metadata_event,
                     [call](Resume resume) { return call->interception->sends_initial_metadata(std::move(resume)); });
  }
  stream.metadata_wanted = false;
  stream.metadata_started = true;
  *moved = true;
  auto& asking = static_cast<StreamReactor&>(*call->reactor);
  if (!over && (call->is_async() && call->interception == nullptr
                    ? asking.metadata_put_
                    : stream.replies.put(*call, nullptr) == ReplyQueue::Put::kDone)) {
    call->initial_metadata_sent = true;
    push_replies(call);
  }
  bool running = false;
  return react(
      call, &running, call->initial_metadata_event,
      [](StreamReactor& reactor, bool ok) { reactor.OnSendInitialMetadataDone(ok); }, !over);
}

bool Streams::settle_read(Call* call, bool* moved) {
  Stream& stream = *call->stream;
  if (stream.reads) return true;  // the last OnReadDone is still running
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  if (!stream.read_intercepted) {
    bool ok = false;
    if (!call->completed && !call->cancelled.load(std::memory_order_relaxed)) {
      if (!stream.requests.empty()) {
        ok = call->copy_request(stream.requests.front(), reactor.read_into_);
        stream.requests.pop();
      } else if (!stream.requests.ended()) {
        return true;
      }
    }
    stream.read_fine = ok;
    if (call->interception != nullptr) [[unlikely]] {
      stream.read_intercepted = *moved = true;
      drover::Message* message = ok ? reactor.read_into_ : nullptr;
      return intercept(call, &stream.reads, stream.read_event, [call, message](Resume resume) {
        return call->interception->received_message(message, std::move(resume));
      });
    }
  }
  stream.read_wanted = stream.read_intercepted = false;
  *moved = true;
  return react(
      call, &stream.reads, stream.read_event, [](StreamReactor& r, bool fine) { r.OnReadDone(fine); },
      stream.read_fine && !call->interceptor_threw());
}

bool Streams::settle_write(Call* call, bool* moved) {
  Stream& stream = *call->stream;
  if (stream.writes || stream.waits_for_memory) return true;
  if (call->interception != nullptr && stream.metadata_wanted) return true;  // which go first
  if (!stream.write_over) {
    bool ok = !call->completed && !call->cancelled.load(std::memory_order_relaxed) && stream.failure.ok() &&
              !call->interceptor_threw();
    if (ok && call->interception != nullptr && !std::exchange(stream.write_intercepted, true)) [[unlikely]] {
      *moved = true;
      return intercept_write(call);
    }
    if (ok && !do_write(call, &ok)) return true;
    stream.write_fine = ok;
    if (call->interception != nullptr) [[unlikely]] {
      stream.write_over = *moved = true;
      return intercept(call, &stream.writes, stream.write_event,
                       [call, ok](Resume resume) { return call->interception->message_sent(ok, std::move(resume)); });
    }
  }
  stream.write_wanted = stream.write_intercepted = stream.write_over = false;
  *moved = true;
  if (!stream.write_reported) return true;
  return react(
      call, &stream.writes, stream.write_event, [](StreamReactor& r, bool fine) { r.OnWriteDone(fine); },
      stream.write_fine);
}

// They may replace the message, or leave none.
bool Streams::intercept_write(Call* call) {
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  if (reactor.write_from_ == nullptr) return true;
  return intercept(call, &call->stream->writes, call->stream->write_event, [call, &reactor](Resume resume) {
    return call->interception->sends_message(&reactor.write_from_, std::move(resume));
  });
}

// False: there is no room for it now.
bool Streams::do_write(Call* call, bool* ok) {
  Stream& stream = *call->stream;
  auto& reactor = static_cast<StreamReactor&>(*call->reactor);
  ReplyQueue::Put result = ReplyQueue::Put::kDone;
  if (reactor.put_ == StreamReactor::kCannotBePut ||
      (reactor.put_ == StreamReactor::kNotPut && reactor.write_from_ == nullptr)) {
    result = ReplyQueue::Put::kTooDeep;
  } else if (reactor.put_ == StreamReactor::kNotPut) {
    if (!stream.replies.has_room()) return false;
    result = stream.replies.put(*call, reactor.write_from_, reactor.write_as_it_is_);
  }
  if (result == ReplyQueue::Put::kNoMemory) {
    int64_t now = monotonic_ns();
    if (stream.memory_deadline_ns == 0) stream.memory_deadline_ns = now + link_.reply_memory_wait_ns;
    if (now < stream.memory_deadline_ns || !stream.replies.all_released()) {
      stream.waits_for_memory = true;
      waiting_for_memory_.push_back(call);
      return false;
    }
  }
  stream.memory_deadline_ns = 0;
  *ok = result == ReplyQueue::Put::kDone;
  if (*ok) {
    call->initial_metadata_sent = true;
    push_replies(call);
  } else {
    stream.failure = failure_of(result);
  }
  return true;
}

grpc::Status Streams::failure_of(ReplyQueue::Put result) {
  switch (result) {
    case ReplyQueue::Put::kTooDeep:
      return grpc::Status(grpc::StatusCode::INTERNAL, "the reply is nested too deeply to be sent");
    case ReplyQueue::Put::kTooLarge:
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "the reply is larger than the shared memory for replies");
    default:
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "no room for a reply in shared memory");
  }
}

// ---- any thread

void Streams::ask(StreamReactor& reactor, uint32_t what) {
  uint32_t asked = reactor.asked_.load(std::memory_order_acquire);
  for (;;) {
    bool unbound = (asked & StreamReactor::kUnbound) != 0;
    bool leads = !unbound && leads_here(reactor.call_);
    uint32_t wanted = asked | what | (unbound || leads ? 0 : StreamReactor::kPosted);
    if (!reactor.asked_.compare_exchange_weak(asked, wanted, std::memory_order_seq_cst, std::memory_order_acquire)) {
      continue;
    }
    if (unbound) return;  // found when the reactor is bound
    if (!leads) break;
    if (leads_here(reactor.call_)) return;  // found when the reaction returns
    // The lead was lost between the two looks: its new owner may have looked too early.
    asked = reactor.asked_.load(std::memory_order_acquire);
    what = 0;
  }
  if ((asked & StreamReactor::kPosted) == 0) reactor.call_->post(reactor.call_->stream->look_event);
}

// ---- a synchronous handler's threads

void Streams::announce(Call* call) {
  if (here.call == call && here.worker->enter(here.phase)) {
    here.worker->streams().flush(call);
    here.worker->ring_bells();
    here.worker->leave(here.phase);
    return;
  }
  if (!call->stream->look_posted.exchange(true, std::memory_order_seq_cst)) call->post(call->stream->look_event);
}

void Streams::announce_read(Call* call) {
  Stream& stream = *call->stream;
  if (++stream.silent_reads < kSilentReads && !stream.requests.empty()) return;
  stream.silent_reads = 0;
  if (leads_here(call)) return;  // waiting, writing or returning tells it, and so does losing the lead
  if (!stream.look_posted.exchange(true, std::memory_order_seq_cst)) call->post(stream.look_event);
}

void Streams::wait(Call* call, const std::function<bool()>& ready, int64_t longest_ns) {
  if (here.call == call && here.worker->enter(here.phase)) {
    here.worker->streams().flush(call);
    bool done = here.worker->lead_while(ready, longest_ns < 0 ? kNoDeadline : monotonic_ns() + longest_ns);
    here.worker->leave(here.phase);
    if (done) return;
    here.worker->hand_over(here.phase);
  }
  call->stream->parking.wait(ready, longest_ns);
}

void Streams::give_up_lead(Call* call) {
  if (here.call != call || !here.worker->enter(here.phase)) return;
  here.worker->streams().flush(call);
  here.worker->ring_bells();
  here.worker->leave(here.phase);
  here.worker->hand_over(here.phase);
}

}  // namespace drover::host

namespace grpc::internal {

void StreamReactor::ask(uint32_t what) { drover::host::Streams::ask(*this, what); }

}  // namespace grpc::internal
