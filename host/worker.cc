#include "host/worker.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "host/event_queue.h"

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
      shared_(reinterpret_cast<WorkerShared*>(link_->region.base() + link_->layout.worker_shared(index))),
      waiter_(shared_, link_->spin),
      inbox_(*shared_),
      channels_(*link_, index),
      calls_(inbox_, *link_),
      streams_(*this, *link_),
      asynchronous_(*this, *link_),
      answers_({*this, *link_, channels_, calls_, inbox_, phase_, streams_, asynchronous_}) {}

Worker::~Worker() {
  while (inbox_.posting()) std::this_thread::yield();
}

// ---- the leader

bool Worker::serve() {
  for (bool worked = true; worked;) {
    worked = false;
    if (!round(&worked)) return false;
    ring_bells();
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
    if (link_->gone.load(std::memory_order_acquire) && calls_.active() == asynchronous_calls()) {
      if (calls_.active() != 0) {  // what the application's queues still have is served by those who end it
        inbox_.set_owner(this);
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
    if (!serve_channel(e, worked)) return false;
  }
  if (inbox_.scan_requested() || scan_underway_) [[unlikely]] {
    *worked = true;
    if (!scan_for_cancelled()) return false;
  }
  if (streams_.has_work() && !streams_.serve(worked)) return false;
  if (channels_.backlogged()) [[unlikely]]
    channels_.flush_backlogs();
  if (answers_.waits_for_memory() && !answers_.retry_waiting(worked)) [[unlikely]]
    return false;
  if (streams_.waits_for_memory() && !streams_.retry_memory(worked)) [[unlikely]]
    return false;
  return held_.empty() || start_held(worked);
}

bool Worker::anything_to_do() const {
  if (link_->gone.load(std::memory_order_relaxed)) return inbox_.ready();  // what it pushes does not count any more
  return channels_.anything_to_pop() || inbox_.ready();
}

int64_t Worker::next_deadline() const {
  if (channels_.backlogged() || answers_.waits_for_memory() || streams_.waits_for_memory()) {
    return monotonic_ns() + kRetryNs;
  }
  return held_.empty() ? kNoDeadline : monotonic_ns() + kHeldNs;
}

bool Worker::serve_channel(uint32_t engine_thread, bool* worked) {
  // What the engine answered before its death is ignored.
  if (link_->gone.load(std::memory_order_relaxed)) [[unlikely]]
    return true;
  Slot slot;
  for (int i = 0; i < kRoundSlots && channels_.try_pop(engine_thread, slot); ++i) {
    *worked = true;
    if (!serve_slot(engine_thread, slot)) return false;
  }
  return true;
}

bool Worker::serve_slot(uint32_t engine_thread, const Slot& slot) {
  if (slot.type == static_cast<uint8_t>(RequestSlotType::kCall)) [[likely]] {
    return start_call(engine_thread, slot_as<CallSlot>(slot));
  }
  switch (static_cast<RequestSlotType>(slot.type)) {
    case RequestSlotType::kCall:
      break;  // above
    case RequestSlotType::kCancel: {
      auto typed = slot_as<CancelSlot>(slot);
      Call* call = calls_.find(engine_thread, typed.call, typed.generation);
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
      Call* call = calls_.find(engine_thread, typed.call, typed.generation);
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
  return serve_slot(deferred_thread_, deferred_slot_);
}

// Slots up to one that needs the application's code; false: there is one, and it is deferred.
bool Worker::serve_quietly(bool* worked) {
  for (uint32_t e = 0; e < channels_.size(); ++e) {
    Slot slot;
    for (int i = 0; i < kRoundSlots && channels_.try_pop(e, slot); ++i) {
      *worked = true;
      auto type = static_cast<RequestSlotType>(slot.type);
      if (type == RequestSlotType::kCall || type == RequestSlotType::kCancel) {
        deferred_slot_ = slot;
        deferred_thread_ = e;
        has_deferred_ = true;
        return false;
      }
      serve_slot(e, slot);
    }
  }
  return true;
}

bool Worker::lead_while(const std::function<bool()>& ready, int64_t deadline_ns) {
  for (;;) {
    bool worked = false;
    if (ready()) return true;
    if (has_deferred_ || inbox_taken_ != nullptr || inbox_.ready() || scan_underway_ || streams_.has_work() ||
        answers_.waits_for_memory() || streams_.waits_for_memory() || !held_.empty() ||
        link_->gone.load(std::memory_order_relaxed) || !serve_quietly(&worked)) {
      ring_bells();
      return false;
    }
    if (channels_.backlogged()) channels_.flush_backlogs();
    if (worked) continue;
    ring_bells();
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
  ring_bells();
  int64_t deadline = next_deadline();
  unlock_lead();
  return deadline;
}

void Worker::kick() {
  while (inbox_.ready()) {
    if (lead_taken_.exchange(true, std::memory_order_seq_cst)) return;  // that thread looks again
    bool worked = false;
    if (!serve_inbox(&worked)) return;  // another thread has the lead, and lead_taken_ with it
    if (inbox_.scan_requested() && !scan_for_cancelled()) return;
    // Without an engine no turn is served any more: what waits for memory ends here.
    for (worked = gone(); worked;) {
      worked = false;
      if (!round(&worked)) return;
    }
    ring_bells();
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

uint64_t Worker::begin_application(Call* call) {
  interrupted_ = call;
  return phase_.begin();
}

bool Worker::end_application(uint64_t phase) {
  if (!phase_.end(phase)) [[unlikely]]
    return false;
  interrupted_ = nullptr;
  return true;
}

__attribute__((always_inline)) inline bool Worker::run_handler(Call* call) {
  return phase_.run([call] { call->run_handler(); }, call->handler_event, CallEvent::Kind::kHandlerReturned) &&
         answers_.after_handler(call);
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
  if (call->interception != nullptr) [[unlikely]]
    return intercept_call(call);
  return run_handler(call);
}

bool Worker::intercept_call(Call* call) {
  call->interception->call_seen = true;
  const Intercepted ran = intercept(call, call->intercept_event, CallEvent::Kind::kCallIntercepted,
                                    [call](Resume resume) { return call->intercept(std::move(resume)); });
  return ran == Intercepted::kDone ? run_handler(call) : ran == Intercepted::kLater;
}

bool Worker::start_call(uint32_t engine_thread, const CallSlot& slot) {
  Call* call = calls_.take(engine_thread, slot);
  if (call == nullptr) [[unlikely]]
    return link_->report_broken("more calls than it may"), true;
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
  if (call->method->streams() && call->stream == nullptr) streams_.attach(call);
  if (call->is_async()) return asynchronous_.start(call);
  bool sync = call->method->kind == grpc::internal::Method::Kind::kSync;
  if (!sync || !hold_handlers_.load(std::memory_order_relaxed)) return start_now(call);
  held_.push_back(call);
  return true;
}

// The handler, behind interceptors that have seen the call already, or behind those that see it now.
bool Worker::start_now(Call* call) {
  const bool seen = call->interception != nullptr && call->interception->call_seen;
  if (call->stream != nullptr) return seen ? streams_.run_handler(call) : streams_.start(call);
  return seen ? run_handler(call) : run_unary(call);
}

bool Worker::start_held(bool* worked) {
  if (hold_handlers_.load(std::memory_order_relaxed)) return true;
  Call* call = held_.front();
  held_.pop_front();
  *worked = true;
  return start_now(call);
}

bool Worker::read_call(const CallSlot& slot, Call* call) {
  const Region& region = link_->region;
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

// ---- cancellation

bool Worker::scan_for_cancelled() {
  inbox_.begin_scan();
  scan_underway_ = true;  // a thread that takes over the lead meanwhile begins with another pass
  bool all = link_->gone.load(std::memory_order_acquire) || link_->cancel_all.load(std::memory_order_acquire);
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call* call = calls_.at(i);
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
      return answers_.after_handler(call);
    case CallEvent::Kind::kFinished:
    case CallEvent::Kind::kEndIntercepted:
      return answers_.complete(call);
    case CallEvent::Kind::kInitialMetadataAsked:
      return answers_.after_initial_metadata(call);
    case CallEvent::Kind::kMatched:
      return asynchronous_.matched(call);
    case CallEvent::Kind::kCallIntercepted:
      return start_or_hold(call);
    case CallEvent::Kind::kReceiveIntercepted:
      return asynchronous_.intercepted(call);
    case CallEvent::Kind::kHeadersIntercepted:
      return answers_.headers_intercepted(call);
    case CallEvent::Kind::kCloseIntercepted:
      return answers_.close_intercepted(call);
    case CallEvent::Kind::kLookAsked:
      return streams_.looked_for(call);
    case CallEvent::Kind::kReactionReturned:
      return call->stream != nullptr ? streams_.reaction_returned(call, event) : answers_.reaction_returned(call);
    case CallEvent::Kind::kDoneReturned:
      answers_.end_call(call);
      return true;
  }
  return true;
}

void Worker::release(uint32_t tx_call) {
  if ((tx_call & Streams::kMessageBit) == 0) [[likely]]
    return answers_.release(tx_call);
  if (!streams_.release(tx_call)) link_->report_broken("a RELEASE of a message that was not sent");
}

}  // namespace drover::host
