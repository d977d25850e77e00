#include "host/call_requests.h"

#include <grpcpp/impl/drover_service.h>

#include <utility>

#include "host/event_queue.h"

namespace drover::host {

using grpc::internal::Method;

CallRequests::CallRequests(std::vector<Method>& methods, std::shared_ptr<TurnWork> work)
    : work_(std::move(work)), methods_(methods.size()) {
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i].kind != Method::Kind::kAsync) continue;
    methods[i].requests = this;
    methods[i].number = static_cast<uint32_t>(i);
  }
}

void CallRequests::request(const CallRequest& request) {
  request.notification_queue->begin();
  if (work_ != nullptr) {
    request.notification_queue->join(work_);
    request.call_queue->join(work_);
  }
  WaitingCall* call = nullptr;
  {
    std::lock_guard lock(mutex_);
    OfMethod& method = methods_[request.method];
    if (!closed_) {
      call = take_oldest(method);
      if (call == nullptr) return method.requests.push_back(request);
    }
  }
  if (call == nullptr) return request.notification_queue->push(request.tag, false);
  call->match(request);
}

void CallRequests::close() {
  std::vector<CallRequest> requests;
  std::vector<WaitingCall*> calls;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    for (OfMethod& method : methods_) {
      requests.insert(requests.end(), method.requests.begin(), method.requests.end());
      method.requests.clear();
      while (WaitingCall* call = take_oldest(method)) calls.push_back(call);
    }
  }
  for (const CallRequest& one : requests) one.notification_queue->push(one.tag, false);
  for (WaitingCall* call : calls) call->refuse();
}

CallRequests::Arrival CallRequests::arrive(WaitingCall& call, uint32_t number, uint32_t most_waiting,
                                           CallRequest* request) {
  std::lock_guard lock(mutex_);
  if (closed_) return Arrival::kClosed;
  OfMethod& method = methods_[number];
  if (!method.requests.empty()) {
    *request = method.requests.front();
    method.requests.pop_front();
    return Arrival::kMatched;
  }
  if (waiting_ >= most_waiting) return Arrival::kTooMany;
  ++waiting_;
  call.method_ = number;
  call.waits_ = true;
  call.earlier_ = method.last;
  call.later_ = nullptr;
  (method.last != nullptr ? method.last->later_ : method.first) = &call;
  method.last = &call;
  return Arrival::kWaits;
}

bool CallRequests::forget(WaitingCall& call) {
  std::lock_guard lock(mutex_);
  if (!call.waits_) return false;
  unlink(methods_[call.method_], call);
  return true;
}

WaitingCall* CallRequests::take_oldest(OfMethod& method) {
  WaitingCall* call = method.first;
  if (call != nullptr) unlink(method, *call);
  return call;
}

void CallRequests::unlink(OfMethod& method, WaitingCall& call) {
  (call.earlier_ != nullptr ? call.earlier_->later_ : method.first) = call.later_;
  (call.later_ != nullptr ? call.later_->earlier_ : method.last) = call.earlier_;
  call.waits_ = false;
  --waiting_;
}

}  // namespace drover::host
