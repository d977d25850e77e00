#include "host/worker.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "host/async_call.h"
#include "host/cycle_clock.h"
#include "host/event_queue.h"
#include "host/interception.h"

namespace drover::host {
namespace {

// The leader's longest sleep while answers wait for room that the engine has to make.
constexpr int64_t kRetryNs = 100'000;
// The same while calls wait for handlers that block, on any worker, to return.
constexpr int64_t kHeldNs = 1'000'000;
constexpr const char* kNotAsMethod = "a CALL that does not stream as its method does";

}  // namespace

Worker::Worker(std::shared_ptr<EngineLink> link, uint32_t index)
    : link_(std::move(link)),
      index_(index),
      shared_(reinterpret_cast<WorkerShared*>(link_->region.base() + link_->layout.worker_shared(index))),
      waiter_(shared_, link_->spin),
      channels_(link_->layout.options().engine_threads),
      streams_(*this, *link_),
      asynchronous_(*this, *link_),
      inbox_(*shared_) {
  for (uint32_t e = 0; e < channels_.size(); ++e) {
    channels_[e].ends = HostChannel::open(link_->region, link_->layout, link_->layout.channel(e, index_));
    const auto* engine_thread =
        reinterpret_cast<const EngineThreadShared*>(link_->region.base() + link_->layout.engine_thread_shared(e));
    channels_[e].bell = EngineBell(engine_thread, link_->bells[e].get());
    monitor_bells_.emplace_back(engine_thread, link_->bells[e].get());
  }
  cycles_per_us();  // measured now rather than in the first call
}

Worker::~Worker() {
  while (inbox_.posting()) std::this_thread::yield();
  calls_.clear();
  for (const ChunkRun& run : first_chunk_runs_) link_->tx.free(run.offset, run.chunks);
}

// ---- any thread

void Worker::ring_for_stuck_leader() {
  for (EngineBell& bell : monitor_bells_) bell.ring();
}

// ---- the leader

bool Worker::serve() {
  for (bool worked = true; worked;) {
    worked = false;
    if (!round(&worked)) return false;
    if (unannounced_) ring_bells();
  }
  return true;
}

Worker::Lead Worker::lead() {
  if (interrupted_ != nullptr) {
    Call* call = std::exchange(interrupted_, nullptr);
    if (!streams_.resume(call)) return Lead::kLost;
  }
  for (;;) {
    if (!serve()) return Lead::kLost;
    if (link_->gone.load(std::memory_order_acquire) && active_ == asynchronous_calls()) {
      if (active_ != 0) {  // what the application's queues still have is served by those who end it
        inbox_.set_owner(this);
        unlock_lead();
        return Lead::kDone;
      }
      if (!inbox_.posting()) return Lead::kDone;
      std::this_thread::yield();  // the poster is between two instructions of post
      continue;
    }
    waiter_.wait([this] { return anything_to_do(); }, next_deadline());
    sleeps_.store(waiter_.sleeps(), std::memory_order_relaxed);
  }
}

bool Worker::round(bool* worked) {
  if (has_deferred_ && !serve_deferred()) [[unlikely]]
    return false;
  if (inbox_taken_ != nullptr || inbox_.has_events()) {
    if (!serve_inbox(worked)) return false;
  }
  for (uint32_t e = 0; e < channels_.size(); ++e) {
    if (!serve_channel(channels_[e], e, worked)) return false;
  }
  if (inbox_.scan_requested() || scan_underway_) [[unlikely]] {
    *worked = true;
    if (!scan_for_cancelled()) return false;
  }
  if (streams_.has_work() && !streams_.serve(worked)) return false;
  if (backlogged_) [[unlikely]]
    flush_backlogs();
  if (!waiting_for_memory_.empty() && !retry_waiting(worked)) [[unlikely]]
    return false;
  if (streams_.waits_for_memory() && !streams_.retry_memory(worked)) [[unlikely]]
    return false;
  return held_.empty() || start_held(worked);
}

bool Worker::anything_to_do() const {
  if (link_->gone.load(std::memory_order_relaxed)) return inbox_.ready();  // what it pushes does not count any more
  for (const Channel& channel : channels_) {
    if (channel.ends.requests.ready()) return true;
  }
  return inbox_.ready();
}

int64_t Worker::next_deadline() const {
  if (backlogged_ || !waiting_for_memory_.empty() || streams_.waits_for_memory()) return monotonic_ns() + kRetryNs;
  return held_.empty() ? kNoDeadline : monotonic_ns() + kHeldNs;
}

bool Worker::serve_channel(Channel& channel, uint32_t engine_thread, bool* worked) {
  // What the engine answered before its death is ignored.
  if (link_->gone.load(std::memory_order_relaxed)) [[unlikely]]
    return true;
  Slot slot;
  for (int i = 0; i < kRoundSlots && channel.ends.requests.try_pop(slot); ++i) {
    *worked = true;
    if (!serve_slot(channel, engine_thread, slot)) return false;
  }
  return true;
}

bool Worker::serve_slot(Channel& channel, uint32_t engine_thread, const Slot& slot) {
  if (slot.type == static_cast<uint8_t>(RequestSlotType::kCall)) [[likely]] {
    return start_call(channel, engine_thread, slot_as<CallSlot>(slot));
  }
  switch (static_cast<RequestSlotType>(slot.type)) {
    case RequestSlotType::kCall:
      break;  // above
    case RequestSlotType::kCancel: {
      auto typed = slot_as<CancelSlot>(slot);
      Call* call = find_call(channel, engine_thread, typed.call, typed.generation);
      return call == nullptr || cancel(call);
    }
    case RequestSlotType::kRelease: {
      auto typed = slot_as<ReleaseSlot>(slot);
      if (typed.count > kMaxReleases) return link_->report_broken("a RELEASE of too many"), true;
      for (uint32_t i = 0; i < typed.count; ++i) release(typed.tx_call[i]);
      return true;
    }
    case RequestSlotType::kDrain:  // at most CALLs follow whose requests the engine was parsing
      link_->drains.fetch_add(1, std::memory_order_release);
      return true;
    case RequestSlotType::kMessage: {
      auto typed = slot_as<RequestMessageSlot>(slot);
      Call* call = find_call(channel, engine_thread, typed.call, typed.generation);
      if (call != nullptr && !call->completed) streams_.arrive(call, typed);
      return true;
    }
  }
  link_->report_broken("a slot of unknown type");
  return true;
}

// ---- for a handler that waits

bool Worker::serve_deferred() {
  if (!std::exchange(has_deferred_, false)) return true;
  return serve_slot(channels_[deferred_thread_], deferred_thread_, deferred_slot_);
}

// Slots up to one that needs the application's code; false: there is one, and it is deferred.
bool Worker::serve_quietly(bool* worked) {
  for (uint32_t e = 0; e < channels_.size(); ++e) {
    Slot slot;
    for (int i = 0; i < kRoundSlots && channels_[e].ends.requests.try_pop(slot); ++i) {
      *worked = true;
      auto type = static_cast<RequestSlotType>(slot.type);
      if (type == RequestSlotType::kCall || type == RequestSlotType::kCancel) {
        deferred_slot_ = slot;
        deferred_thread_ = e;
        has_deferred_ = true;
        return false;
      }
      serve_slot(channels_[e], e, slot);
    }
  }
  return true;
}

bool Worker::lead_while(const std::function<bool()>& ready, int64_t deadline_ns) {
  for (;;) {
    bool worked = false;
    if (ready()) return true;
    if (has_deferred_ || inbox_taken_ != nullptr || inbox_.ready() || scan_underway_ || streams_.has_work() ||
        !waiting_for_memory_.empty() || streams_.waits_for_memory() || !held_.empty() ||
        link_->gone.load(std::memory_order_relaxed) || !serve_quietly(&worked)) {
      if (unannounced_) ring_bells();
      return false;
    }
    if (backlogged_) flush_backlogs();
    if (worked) continue;
    if (unannounced_) ring_bells();
    if (monotonic_ns() >= deadline_ns) return true;
    waiter_.wait([this] { return anything_to_do(); }, std::min(next_deadline(), deadline_ns));
  }
}

// ---- led by queues

int64_t Worker::serve_turn(const EventQueue* queue) {
  while (lead_taken_.exchange(true, std::memory_order_seq_cst)) std::this_thread::yield();
  deadline_changed_.store(false, std::memory_order_relaxed);
  for (bool worked = true; worked && (queue == nullptr || !queue->ready());) {
    worked = false;
    round(&worked);
  }
  if (unannounced_) ring_bells();
  int64_t deadline = next_deadline();
  unlock_lead();
  return deadline;
}

void Worker::kick() {
  while (inbox_.ready()) {
    if (lead_taken_.exchange(true, std::memory_order_seq_cst)) return;  // that thread looks again
    bool worked = false;
    serve_inbox(&worked);
    if (inbox_.scan_requested()) scan_for_cancelled();
    // Without an engine no turn is served any more: what waits for memory ends here.
    for (worked = gone(); worked;) {
      worked = false;
      round(&worked);
    }
    if (unannounced_) ring_bells();
    if (next_deadline() != kNoDeadline) {  // of which the sleeper does not know
      deadline_changed_.store(true, std::memory_order_release);
      wake_sleeper();
    }
    lead_taken_.store(false, std::memory_order_seq_cst);
  }
}

void Worker::unlock_lead() {
  lead_taken_.store(false, std::memory_order_seq_cst);
  kick();  // what was posted meanwhile
}

// ---- application code

template <typename Code>
bool Worker::run_application(Code&& code, CallEvent& event, CallEvent::Kind kind) {
  uint64_t phase = phase_.load(std::memory_order_relaxed) + 1;
  phase_.store(phase, std::memory_order_release);
  code();
  if (phase_.compare_exchange_strong(phase, phase + 1, std::memory_order_acq_rel)) [[likely]]
    return true;
  event.kind = kind;
  inbox_.post(event);
  return false;
}

uint64_t Worker::begin_application(Call* call) {
  interrupted_ = call;
  uint64_t phase = phase_.load(std::memory_order_relaxed) + 1;
  phase_.store(phase, std::memory_order_release);
  return phase;
}

bool Worker::end_application(uint64_t phase, CallEvent& event, CallEvent::Kind kind) {
  if (phase_.compare_exchange_strong(phase, phase + 1, std::memory_order_acq_rel)) [[likely]] {
    interrupted_ = nullptr;
    return true;
  }
  event.kind = kind;
  inbox_.post(event);
  return false;
}

// Inlined: each unary call comes through here, and finds out whether it is one at no cost of its own. A call whose
// request streams has a flag in its CALL, and a method whose reply does makes none.
__attribute__((always_inline)) inline bool Worker::run_unary(Call* call) {
  if (!call->begin()) [[unlikely]] {
    if (call->method->reply_streams) return start_or_hold(call);
    call->status = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "");
    call->no_room = true;
    return complete(call);
  }
  if (!run_application([call] { call->run_handler(); }, call->handler_event, CallEvent::Kind::kHandlerReturned)) {
    return false;
  }
  return after_handler(call);
}

bool Worker::start_call(Channel& channel, uint32_t engine_thread, const CallSlot& slot) {
  if (active_ >= kMostCalls) [[unlikely]]
    return link_->report_broken("more calls than it may"), true;
  Call* call = take_call();
  call->engine_thread = engine_thread;
  call->engine_call = slot.call;
  call->generation = slot.generation;
  if (slot.call < kMostIndexedCalls) [[likely]] {
    if (slot.call >= channel.by_engine_call.size()) channel.by_engine_call.resize(slot.call + slot.call / 2 + 64);
    channel.by_engine_call[slot.call] = call;
  }
  in_flight_.store(++active_, std::memory_order_relaxed);
  if (!read_call(slot, call)) [[unlikely]] {
    call->status = grpc::Status(grpc::StatusCode::INTERNAL, "the engine handed over a call that cannot be");
    return complete(call);
  }
  if ((slot.flags | static_cast<uint8_t>(hold_handlers_.load(std::memory_order_relaxed)) |
       static_cast<uint8_t>(call->is_async())) != 0) [[unlikely]]
    return start_or_hold(call);
  return run_unary(call);
}

bool Worker::start_or_hold(Call* call) {
  if (call->method->streams()) streams_.attach(call);
  if (call->is_async()) return asynchronous_.start(call);
  bool sync = call->method->kind == grpc::internal::Method::Kind::kSync;
  if (!sync || !hold_handlers_.load(std::memory_order_relaxed)) return start_now(call);
  held_.push_back(call);
  return true;
}

bool Worker::start_now(Call* call) { return call->stream != nullptr ? streams_.start(call) : run_unary(call); }

bool Worker::start_held(bool* worked) {
  if (hold_handlers_.load(std::memory_order_relaxed)) return true;
  Call* call = held_.front();
  held_.pop_front();
  *worked = true;
  return start_now(call);
}

bool Worker::read_call(const CallSlot& slot, Call* call) {
  const Region& region = link_->region;
  call->active = true;
  call->reply = nullptr;
  call->rx_begin = nullptr;
  call->rx_size = 0;
  call->metadata = 0;
  call->deadline_ns = std::max<int64_t>(slot.deadline_ns, 0);
  if (slot.method >= link_->methods.size()) {
    call->method = &link_->methods[0];
    return link_->report_broken("a CALL of an unknown method"), false;
  }
  call->method = &link_->methods[slot.method];
  if (slot.flags != 0) [[unlikely]] {
    if (slot.flags != kCallStreams || !call->method->request_streams) return link_->report_broken(kNotAsMethod), false;
    call->request = nullptr;
    call->metadata = slot.metadata;
    return true;
  }
  uint64_t rx_size = uint64_t{slot.rx_chunks} * kChunkSize;
  const char* run = region.at_rx(slot.rx_begin, rx_size);
  const char* request = region.at_rx(slot.request, call->method->request_size);
  if (run == nullptr || request == nullptr || slot.request % 8 != 0) {
    return link_->report_broken(call->method->request_streams ? kNotAsMethod : "a CALL that leads out of rx"), false;
  }
  call->metadata = slot.metadata;
  call->request = request;
  if (link_->check_requests) [[unlikely]]
    return call->check_request(slot.request);
  call->rx_begin = run;
  call->rx_size = rx_size;
  return true;
}

bool Worker::after_handler(Call* call) {
  if (call->stream != nullptr) [[unlikely]]
    return streams_.after_handler(call);
  if (call->method->kind == grpc::internal::Method::Kind::kSync) return complete(call);
  bool finished = call->bind_reactor();
  if (call->initial_metadata_asked) [[unlikely]] {
    // Before the answer, since OnDone has to come last.
    call->initial_metadata_asked = false;
    if (finished) {
      call->finish_event.kind = CallEvent::Kind::kFinished;
      inbox_.post(call->finish_event);
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

// Before the reply of a call without a stream; with it, if there is no room in tx now.
void Worker::send_headers(Call* call) {
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
  push(channels_[call->engine_thread], to_slot(slot));
}

bool Worker::after_initial_metadata(Call* call) {
  if (call->interception != nullptr && !std::exchange(call->interception->headers_seen, true)) [[unlikely]] {
    call->interception->headers_run = true;
    if (!run_application([call] { call->interception->sends_initial_metadata(); }, call->initial_metadata_event,
                         CallEvent::Kind::kHeadersIntercepted)) {
      return false;
    }
    call->interception->headers_run = false;
  }
  send_headers(call);
  if (call->is_async()) return call->async->headers_sent(), true;
  if (!call->has_user_reactor()) return true;  // no reactor to call
  ++call->reactions_running;
  if (!run_application(
          [call] { static_cast<grpc::ServerUnaryReactor*>(call->reactor)->OnSendInitialMetadataDone(true); },
          call->initial_metadata_event, CallEvent::Kind::kReactionReturned)) {
    return false;
  }
  --call->reactions_running;
  return !call->completed || call->reactions_running != 0 || run_done(call);
}

// Another thread has run them, and meanwhile the answer may have come.
bool Worker::headers_intercepted(Call* call) {
  call->interception->headers_run = false;
  if (std::exchange(call->interception->end_waits, false)) {
    call->finish_event.kind = CallEvent::Kind::kFinished;
    inbox_.post(call->finish_event);
  }
  if (!after_initial_metadata(call)) return false;
  // Cancelled meanwhile, as after_handler has it.
  return call->completed || call->cancel_seen || !call->cancelled.load(std::memory_order_relaxed) || cancel(call);
}

bool Worker::cancel(Call* call) {
  call->cancelled.store(true, std::memory_order_release);
  if (call->cancel_seen || call->completed) return true;
  if (call->is_async()) [[unlikely]]
    return asynchronous_.cancel(call);
  if (call->stream != nullptr) [[unlikely]]
    return streams_.cancel(call);
  if (call->method->kind == grpc::internal::Method::Kind::kSync) {
    call->cancel_seen = true;
    return true;
  }
  if (!call->bound || call->reactor == nullptr) return true;  // after_handler looks again
  call->cancel_seen = true;
  if (!call->has_user_reactor()) return true;
  ++call->reactions_running;
  if (!run_application([call] { call->reactor->OnCancel(); }, call->cancel_event, CallEvent::Kind::kReactionReturned)) {
    return false;
  }
  --call->reactions_running;
  return !call->completed || call->reactions_running != 0 || run_done(call);
}

bool Worker::scan_for_cancelled() {
  inbox_.begin_scan();
  scan_underway_ = true;  // a thread that takes over the lead meanwhile begins with another pass
  bool all = link_->gone.load(std::memory_order_acquire) || link_->cancel_all.load(std::memory_order_acquire);
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call* call = calls_[i].get();
    if (!call->active || call->cancel_seen || call->completed) continue;
    if (!all && !call->cancel_asked.load(std::memory_order_relaxed)) continue;
    if (!cancel(call)) return false;
  }
  scan_underway_ = false;
  return true;
}

// ---- inbox

bool Worker::serve_inbox(bool* worked) {
  *worked = true;
  if (CallEvent* taken = inbox_.take(); taken != nullptr) {
    CallEvent** end = &inbox_taken_;
    while (*end != nullptr) end = &(*end)->next;
    *end = taken;
  }
  while (inbox_taken_ != nullptr) {
    CallEvent* event = std::exchange(inbox_taken_, inbox_taken_->next);
    if (!serve_event(*event)) return false;
  }
  return true;
}

bool Worker::serve_event(CallEvent& event) {
  Call* call = event.call;
  switch (event.kind) {
    case CallEvent::Kind::kHandlerReturned:
      return after_handler(call);
    case CallEvent::Kind::kFinished:
      return complete(call);
    case CallEvent::Kind::kInitialMetadataAsked:
      return after_initial_metadata(call);
    case CallEvent::Kind::kMatched:
      return asynchronous_.matched(call);
    case CallEvent::Kind::kReceiveIntercepted:
      return asynchronous_.intercepted(call);
    case CallEvent::Kind::kHeadersIntercepted:
      return headers_intercepted(call);
    case CallEvent::Kind::kEndIntercepted:
      return complete(call);
    case CallEvent::Kind::kCloseIntercepted:
      --call->reactions_running;
      return completed(call);
    case CallEvent::Kind::kLookAsked:
      return streams_.looked_for(call);
    case CallEvent::Kind::kReactionReturned:
      if (call->stream != nullptr) [[unlikely]]
        return streams_.reaction_returned(call, event);
      --call->reactions_running;
      // Cancelled before the reactor was bound, by the thread that lost the lead in its first reaction.
      if (!call->completed && !call->cancel_seen && call->cancelled.load(std::memory_order_relaxed)) {
        return cancel(call);
      }
      return !call->completed || call->reactions_running != 0 || run_done(call);
    case CallEvent::Kind::kDoneReturned:
      end_call(call);
      return true;
  }
  return true;
}

// ---- answers

// Interceptors see the answer before it goes.
bool Worker::intercept_end(Call* call) {
  call->interception->end_seen = true;
  return run_application([call] { call->interception->sends_end(); }, call->intercept_event,
                         CallEvent::Kind::kEndIntercepted);
}

bool Worker::complete(Call* call) {
  if (call->interception != nullptr && !call->interception->end_seen) [[unlikely]] {
    if (call->interception->headers_run) return call->interception->end_waits = true;
    if (!intercept_end(call)) return false;
  }
  if (!link_->gone.load(std::memory_order_relaxed)) [[likely]] {
    uint64_t response = 0, trailer = 0;
    if (!call->prepare_answer(&response, &trailer)) [[unlikely]] {
      int64_t now = monotonic_ns();
      if (call->memory_deadline_ns == 0) call->memory_deadline_ns = now + link_->reply_memory_wait_ns;
      if (now < call->memory_deadline_ns) {
        waiting_for_memory_.push_back(call);
        return true;
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
    if ((slot.flags & kCompleteFinished) != 0) call->forget_request();
    push(channels_[call->engine_thread], to_slot(slot));
  } else {
    call->cancelled.store(true, std::memory_order_release);  // the application is told that it was not sent
  }
  call->completed = true;
  if (call->interception != nullptr) [[unlikely]] {
    ++call->reactions_running;  // the call is not over before they are
    if (!run_application([call] { call->interception->closed(); }, call->intercept_event,
                         CallEvent::Kind::kCloseIntercepted)) {
      return false;
    }
    --call->reactions_running;
  }
  return completed(call);
}

// Reactors and interceptors may look at the request after the answer: FINISHED comes behind COMPLETE, not with it.
bool Worker::finishes_later(const Call& call) {
  return (call.has_user_reactor() && !call.is_async()) || call.interception != nullptr;
}

void Worker::push_finished(const Call& call) {
  FinishedSlot slot{};
  slot.type = static_cast<uint8_t>(ResponseSlotType::kFinished);
  slot.call = call.engine_call;
  slot.generation = call.generation;
  push(channels_[call.engine_thread], to_slot(slot));
}

bool Worker::completed(Call* call) {
  if (!call->has_user_reactor()) [[likely]] {
    if (link_->gone.load(std::memory_order_relaxed)) [[unlikely]] {
      call->forget_request();
    } else if (finishes_later(*call)) [[unlikely]] {
      call->forget_request();
      push_finished(*call);
    }
    if (call->is_async()) [[unlikely]]
      asynchronous_.ended(call);
    call->finished = true;
    call->active = false;
    in_flight_.store(--active_, std::memory_order_release);
    recycle_if_over(call);
    return true;
  }
  if (call->stream != nullptr) [[unlikely]]
    return streams_.after_complete(call);
  return call->reactions_running != 0 || run_done(call);
}

bool Worker::run_done(Call* call) {
  if (!call->has_user_reactor()) return true;
  if (!run_application([call] { call->reactor->OnDone(); }, call->handler_event, CallEvent::Kind::kDoneReturned)) {
    return false;
  }
  end_call(call);
  return true;
}

void Worker::end_call(Call* call) {
  call->forget_request();
  if (finishes_later(*call) && !link_->gone.load(std::memory_order_relaxed)) push_finished(*call);
  if (call->is_async()) asynchronous_.ended(call);
  call->finished = true;
  call->active = false;
  in_flight_.store(--active_, std::memory_order_release);
  recycle_if_over(call);
}

bool Worker::retry_waiting(bool* worked) {
  for (size_t n = waiting_for_memory_.size(); n > 0; --n) {
    Call* call = waiting_for_memory_.front();
    waiting_for_memory_.pop_front();
    if (!complete(call)) return false;
    if (call->completed) *worked = true;
  }
  return true;
}

void Worker::push(Channel& channel, const Slot& slot) {
  if (!unannounced_) {
    unannounced_ = true;
    unannounced_since_ = cycle_now();
  } else if (cycle_now() - unannounced_since_ > kBellDelayUs * cycles_per_us()) {
    ring_bells();
    unannounced_ = true;
    unannounced_since_ = cycle_now();
  }
  channel.rung = false;
  if (channel.backlog.empty()) [[likely]] {
    PushResult result = channel.ends.responses.try_push(slot);
    if (result == PushResult::kOk) [[likely]]
      return;
    if (result == PushResult::kPeerInvalid) return link_->report_broken("a ring position that cannot be");
  }
  channel.backlog.push_back(slot);
  backlogged_ = true;
}

void Worker::flush_backlogs() {
  backlogged_ = false;
  for (Channel& channel : channels_) {
    if (link_->gone.load(std::memory_order_relaxed)) channel.backlog.clear();
    while (!channel.backlog.empty() && channel.ends.responses.try_push(channel.backlog.front()) == PushResult::kOk) {
      channel.backlog.pop_front();
      channel.rung = false;
      unannounced_ = true;
    }
    backlogged_ = backlogged_ || !channel.backlog.empty();
  }
}

void Worker::ring_bells() {
  for (Channel& channel : channels_) {
    if (channel.rung) continue;
    channel.rung = true;
    channel.bell.ring();
  }
  unannounced_ = false;
}

// ---- calls

Call* Worker::take_call() {
  if (!free_calls_.empty()) [[likely]] {
    Call* call = free_calls_.back();
    free_calls_.pop_back();
    return call;
  }
  auto id = static_cast<uint32_t>(calls_.size());
  calls_.push_back(std::make_unique<Call>(inbox_, id, *link_, take_first_chunk()));
  Call* made = calls_.back().get();
  if (link_->interceptors != nullptr) made->interception = std::make_unique<Interception>(*made, *link_->interceptors);
  return made;
}

// First chunks are kept for ever, so they are taken in runs: scattered over tx they would leave no room for large
// replies.
void* Worker::take_first_chunk() {
  if (unused_first_chunks_.chunks == 0) {
    for (uint32_t chunks : {kFirstChunkRun, 1u}) {
      uint64_t offset = link_->tx.allocate(chunks);
      if (offset == ChunkPool::kNone) continue;
      unused_first_chunks_ = {offset, chunks};
      first_chunk_runs_.push_back(unused_first_chunks_);
      break;
    }
  }
  if (unused_first_chunks_.chunks == 0) return nullptr;
  void* chunk = link_->region.base() + unused_first_chunks_.offset;
  unused_first_chunks_.offset += kChunkSize;
  --unused_first_chunks_.chunks;
  return chunk;
}

Call* Worker::find_call(Channel& channel, uint32_t engine_thread, uint32_t engine_call, uint32_t generation) {
  auto matches = [&](const Call* call) {
    return call != nullptr && call->active && call->engine_thread == engine_thread &&
           call->engine_call == engine_call && call->generation == generation;
  };
  if (engine_call < channel.by_engine_call.size()) {
    Call* call = channel.by_engine_call[engine_call];
    return matches(call) ? call : nullptr;
  }
  for (auto& call : calls_) {
    if (matches(call.get())) return call.get();
  }
  return nullptr;
}

void Worker::release(uint32_t tx_call) {
  if ((tx_call & Streams::kMessageBit) != 0) [[unlikely]] {
    if (!streams_.release(tx_call)) link_->report_broken("a RELEASE of a message that was not sent");
    return;
  }
  if ((tx_call & kHeadersBit) != 0) [[unlikely]] {
    const uint32_t id = tx_call & ~kHeadersBit;
    if (id >= calls_.size() || !calls_[id]->headers_with_engine) {
      return link_->report_broken("a RELEASE of initial metadata that were not sent");
    }
    calls_[id]->free_headers();
    return recycle_if_over(calls_[id].get());
  }
  if (tx_call >= calls_.size() || !calls_[tx_call]->completed || calls_[tx_call]->released) {
    return link_->report_broken("a RELEASE of a call that was not completed");
  }
  Call* call = calls_[tx_call].get();
  call->released = true;
  recycle_if_over(call);
}

void Worker::recycle_if_over(Call* call) {
  if (!call->finished || !call->released || call->headers_with_engine)
    return;  // with a dead engine, the whole Worker is freed instead
  if (call->stream != nullptr && !streams_.detach(call)) [[unlikely]]
    return;
  call->recycle();
  free_calls_.push_back(call);
}

}  // namespace drover::host
