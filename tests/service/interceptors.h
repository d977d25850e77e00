// Two interceptors, A and B, that record what they see of each call and do what its metadata "do" asks for.
//
//   log       trailing metadata: "B:RI+RM A:RI+RM A:SI+SM+SS ..." up to the call's status
//   previous  the same of the call that was over last, with what came behind its status
//
// "do" may have several words:
//   modify-request    Echo's request has "!" behind its text
//   modify-reply      Echo's reply is another one
//   serialized        Echo's reply has "?" behind its text, by its wire bytes
//   initial           one more initial metadata
//   status            PERMISSION_DENIED, "says the interceptor"
//   delay             A proceeds half a second later, on another thread, when the call comes and with its first message
//   cancel            TryCancel
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing.grpc.pb.h"

namespace drover::testing {

using grpc::experimental::InterceptionHookPoints;

// Of one call, shared by its two interceptors.
struct InterceptedCall {
  std::mutex mutex;
  std::string log, what;
  EchoReply replaced;
  int closed = 0;
};

class Intercepting final : public grpc::experimental::Interceptor {
 public:
  Intercepting(const char* name, grpc::experimental::ServerRpcInfo* info) : name_(name), info_(info) {
    // A is made first.
    static thread_local std::shared_ptr<InterceptedCall> made;
    if (first()) made = std::make_shared<InterceptedCall>();
    call_ = made;
    if (!first()) made.reset();
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    record(methods);
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      auto* metadata = methods->GetRecvInitialMetadata();
      auto range = metadata->equal_range("do");
      for (auto at = range.first; at != range.second; ++at) {
        std::lock_guard<std::mutex> lock(call_->mutex);
        call_->what += std::string(at->second.data(), at->second.size()) + " ";
      }
      if (first() && asked("cancel")) info_->server_context()->TryCancel();
    }
    if (first() && is_echo()) change(methods);
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA) && first() &&
        asked("initial")) {
      methods->GetSendInitialMetadata()->insert({"intercepted", "yes"});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      if (first() && asked("status")) {
        methods->ModifySendStatus(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "says the interceptor"));
      }
      if (!first()) {
        std::lock_guard<std::mutex> lock(call_->mutex);
        methods->GetSendTrailingMetadata()->insert({"log", call_->log});
        methods->GetSendTrailingMetadata()->insert({"method", info_->method()});
        methods->GetSendTrailingMetadata()->insert({"type", std::to_string(static_cast<int>(info_->type()))});
        methods->GetSendTrailingMetadata()->insert({"previous", previous(nullptr)});
        methods->GetSendTrailingMetadata()->insert({"code", std::to_string(methods->GetSendStatus().error_code())});
      }
    }
    const bool may_delay = methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA) ||
                           methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE);
    if (first() && may_delay && asked("delay")) {
      std::thread([methods] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        methods->Proceed();
      }).detach();
      return;
    }
    methods->Proceed();
  }

 private:
  bool first() const { return name_[0] == 'A'; }
  bool is_echo() const { return std::string(info_->method()) == "/drover.testing.TestService/Echo"; }
  bool asked(const std::string& word) const {
    std::lock_guard<std::mutex> lock(call_->mutex);
    return (" " + call_->what).find(" " + word + " ") != std::string::npos;
  }

  void record(grpc::experimental::InterceptorBatchMethods* methods) {
    static const std::pair<InterceptionHookPoints, const char*> kHooks[] = {
        {InterceptionHookPoints::POST_RECV_INITIAL_METADATA, "RI"},
        {InterceptionHookPoints::POST_RECV_MESSAGE, "RM"},
        {InterceptionHookPoints::PRE_SEND_INITIAL_METADATA, "SI"},
        {InterceptionHookPoints::PRE_SEND_MESSAGE, "SM"},
        {InterceptionHookPoints::PRE_SEND_STATUS, "SS"},
        {InterceptionHookPoints::POST_SEND_MESSAGE, "SENT"},
        {InterceptionHookPoints::POST_RECV_CLOSE, "CLOSE"},
        {InterceptionHookPoints::PRE_SEND_CANCEL, "CANCEL"},
    };
    std::string what;
    for (const auto& hook : kHooks) {
      if (!methods->QueryInterceptionHookPoint(hook.first)) continue;
      what += (what.empty() ? "" : "+") + std::string(hook.second);
      if (hook.first == InterceptionHookPoints::POST_RECV_MESSAGE && methods->GetRecvMessage() == nullptr) what += "0";
    }
    std::lock_guard<std::mutex> lock(call_->mutex);
    call_->log += (call_->log.empty() ? "" : " ") + std::string(name_) + ":" + what;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE) && ++call_->closed == 2) {
      previous(&call_->log);
    }
  }

  void change(grpc::experimental::InterceptorBatchMethods* methods) {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) && asked("modify-request")) {
      auto* request = static_cast<EchoRequest*>(methods->GetRecvMessage());
      if (request != nullptr) request->set_text(std::string(request->text()) + "!");
    }
    if (!methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) return;
    if (asked("modify-reply")) {
      call_->replaced.set_text("another reply");
      methods->ModifySendMessage(&call_->replaced);
    }
    if (asked("serialized")) {
      grpc::ByteBuffer* bytes = methods->GetSerializedSendMessage();
      EchoReply reply;
      grpc::ByteBuffer copy = *bytes;
      if (!grpc::SerializationTraits<EchoReply>::Deserialize(&copy, &reply).ok()) return;
      reply.set_text(std::string(reply.text()) + "?");
      bool own = false;
      grpc::ByteBuffer changed;
      if (grpc::SerializationTraits<EchoReply>::Serialize(reply, &changed, &own).ok()) bytes->Swap(&changed);
    }
  }
  // The log of the call that was over last; replaced by `log`, if there is one.
  static std::string previous(const std::string* log) {
    static std::mutex mutex;
    static std::string last;
    std::lock_guard<std::mutex> lock(mutex);
    if (log != nullptr) last = *log;
    return last;
  }

  const char* const name_;
  grpc::experimental::ServerRpcInfo* const info_;
  std::shared_ptr<InterceptedCall> call_;
};

class InterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit InterceptorFactory(const char* name) : name_(name) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return new Intercepting(name_, info);
  }

 private:
  const char* const name_;
};

inline void add_interceptors(grpc::ServerBuilder* builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.emplace_back(new InterceptorFactory("A"));
  creators.emplace_back(new InterceptorFactory("B"));
  builder->experimental().SetInterceptorCreators(std::move(creators));
}

}  // namespace drover::testing
