#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/drover_service.h>

#include <ctime>
#include <thread>

#include "channel/doorbell.h"
#include "host/call_requests.h"
#include "host/event_queue.h"
#include "host/log.h"

namespace grpc {
namespace {

using drover::host::AlarmState;
using drover::host::EventQueue;

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// CLOCK_MONOTONIC
int64_t deadline_ns(gpr_timespec at) {
  if (gpr_time_is_inf_future(at)) return drover::kNoDeadline;
  int64_t ns = 0;
  if (__builtin_mul_overflow(at.tv_sec, kNsPerSecond, &ns) || __builtin_add_overflow(ns, at.tv_nsec, &ns)) {
    return at.tv_sec < 0 ? 0 : drover::kNoDeadline;
  }
  if (at.clock_type == GPR_CLOCK_MONOTONIC) return ns;
  int64_t base = drover::monotonic_ns() - (at.clock_type == GPR_TIMESPAN ? 0 : clock_ns(CLOCK_REALTIME));
  if (__builtin_add_overflow(ns, base, &ns)) return at.tv_sec < 0 ? 0 : drover::kNoDeadline;
  return ns < 0 ? 0 : ns;
}

// What an alarm with a function has as its tag.
struct Callback {
  std::function<void(bool)> function;
};

// Calls them, on a thread that never ends. Never destroyed.
EventQueue& callbacks() {
  static EventQueue* queue = [] {
    auto* made = new EventQueue();
    std::thread([made] {
      void* tag = nullptr;
      bool ok = false;
      while (made->next(&tag, &ok, drover::kNoDeadline) == EventQueue::Next::kEvent) {
        std::unique_ptr<Callback> callback(static_cast<Callback*>(tag));
        callback->function(ok);
      }
    }).detach();
    return made;
  }();
  return *queue;
}

}  // namespace

// ---- CompletionQueue

CompletionQueue::CompletionQueue() : events_(std::make_unique<EventQueue>()) {}
CompletionQueue::~CompletionQueue() = default;

void CompletionQueue::Shutdown() { events_->shutdown(); }

CompletionQueue::NextStatus CompletionQueue::next(void** tag, bool* ok, gpr_timespec deadline) {
  switch (events_->next(tag, ok, deadline_ns(deadline))) {
    case EventQueue::Next::kEvent:
      return GOT_EVENT;
    case EventQueue::Next::kTimeout:
      return TIMEOUT;
    case EventQueue::Next::kShutdown:
      break;
  }
  return SHUTDOWN;
}

// ---- Service

void Service::drover_serve(std::shared_ptr<drover::host::CallRequests> requests, uint32_t* next) {
  requests_ = std::move(requests);
  numbers_.clear();
  for (const internal::Method& method : methods_) {
    numbers_.push_back(method.kind == internal::Method::Kind::kGeneric ? UINT32_MAX : (*next)++);
  }
}

void Service::request_call(int index, ServerContext* context, drover::Message* request,
                           internal::ServerAsyncStreamingInterface* responder, CompletionQueue* call_queue,
                           ServerCompletionQueue* notification_queue, void* tag) {
  if (requests_ == nullptr) drover::fatal("a call was requested of a service that no server serves");
  requests_->request({numbers_.at(static_cast<size_t>(index)), context, responder, request,
                      &call_queue->drover_events(), &notification_queue->drover_events(), tag});
}

// ---- Alarm

Alarm::Alarm() : state_(std::make_unique<AlarmState>()) {}
Alarm::~Alarm() {
  if (state_ != nullptr) Cancel();
}
Alarm::Alarm(Alarm&& other) noexcept = default;
Alarm& Alarm::operator=(Alarm&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr) Cancel();
  state_ = std::move(other.state_);
  return *this;
}

void Alarm::set(CompletionQueue* queue, gpr_timespec deadline, void* tag) {
  if (state_ == nullptr) state_ = std::make_unique<AlarmState>();
  queue->drover_events().set_alarm(*state_, deadline_ns(deadline), tag);
}

void Alarm::set(gpr_timespec deadline, std::function<void(bool)> f) {
  if (state_ == nullptr) state_ = std::make_unique<AlarmState>();
  callbacks().set_alarm(*state_, deadline_ns(deadline), new Callback{std::move(f)});
}

void Alarm::Cancel() {
  EventQueue* queue = state_ == nullptr ? nullptr : state_->queue.load(std::memory_order_acquire);
  if (queue != nullptr) queue->cancel_alarm(*state_);
}

}  // namespace grpc
