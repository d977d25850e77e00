#include "host/async_calls.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "host/async_call.h"

namespace drover::host {
namespace {

constexpr const char* kTooManyWait = "too many calls wait for the service to ask for them";
constexpr const char* kShutsDown = "the server is shutting down";

}  // namespace

bool AsyncCalls::start(Call* call) {
  if (call->async == nullptr) {
    auto made = std::make_unique<AsyncCall>(*call);
    call->async = made.get();
    call->part = std::move(made);
  }
  call->begin_async();
  CallRequest request;
  switch (call->method->requests->arrive(*call->async, call->method->number, most_waiting(), &request)) {
    case CallRequests::Arrival::kMatched:
      return bind(call, request);
    case CallRequests::Arrival::kWaits:
      return true;
    case CallRequests::Arrival::kTooMany:
      return refuse(call, grpc::StatusCode::RESOURCE_EXHAUSTED, kTooManyWait);
    case CallRequests::Arrival::kClosed:
      break;
  }
  return refuse(call, grpc::StatusCode::UNAVAILABLE, kShutsDown);
}

bool AsyncCalls::matched(Call* call) {
  if (const CallRequest* request = call->async->matched()) return bind(call, *request);
  return refuse(call, grpc::StatusCode::UNAVAILABLE, kShutsDown);
}

bool AsyncCalls::cancel(Call* call) {
  if (!call->bound) {
    if (call->async == nullptr) return true;                         // it cannot be, and its answer waits for memory
    if (!call->method->requests->forget(*call->async)) return true;  // on its way to the application
    call->cancel_seen = true;
    call->status = grpc::Status::CANCELLED;
    return worker_.complete(call);
  }
  if (call->stream != nullptr) return worker_.streams().cancel(call);
  call->cancel_seen = true;
  call->async->cancelled();
  return true;
}

void AsyncCalls::ended(Call* call) {
  // A call that cannot be has none yet.
  if (call->async != nullptr && (call->stream == nullptr || call->reactor == nullptr)) call->async->over();
  if (call->bound) bound_.fetch_sub(1, std::memory_order_release);
}

uint32_t AsyncCalls::most_waiting() const { return std::min(CallRequests::kMostWaiting, link_.tx.total_chunks() / 2); }

bool AsyncCalls::bind(Call* call, const CallRequest& request) {
  call->async->bind(request);
  if (call->interception != nullptr) [[unlikely]] {
    const Intercepted ran = worker_.intercept(
        call, call->intercept_event, CallEvent::Kind::kReceiveIntercepted, [call, &request](Resume resume) {
          return call->interception->received_call(*request.context, request.message, std::move(resume));
        });
    if (ran != Intercepted::kDone) return ran == Intercepted::kLater;
  }
  return intercepted(call);
}

bool AsyncCalls::intercepted(Call* call) {
  call->bound = true;
  if (call->stream != nullptr) call->reactor = call->async;
  bound_.fetch_add(1, std::memory_order_relaxed);
  call->async->announce();
  return !call->cancelled.load(std::memory_order_relaxed) || cancel(call);
}

bool AsyncCalls::refuse(Call* call, grpc::StatusCode code, const char* why) {
  call->status = grpc::Status(code, why);
  return worker_.complete(call);
}

}  // namespace drover::host
