#include "host/generic_service.h"

#include <utility>

#include "channel/control.h"
#include "host/call.h"

namespace drover::host {
namespace {

using grpc::internal::Method;

Method any_method(Method::Kind kind, void* service) {
  Method method = grpc::internal::MakeMethod<grpc::ByteBuffer, grpc::ByteBuffer>(kAnyPath.data(), kind);
  method.set_streams(true, true);
  method.any = true;
  method.service = service;
  return method;
}

}  // namespace

Method GenericCalls::method(grpc::AsyncGenericService& service) { return any_method(Method::Kind::kAsync, &service); }

Method GenericCalls::method(grpc::CallbackGenericService& service) {
  Method method = any_method(Method::Kind::kCallback, &service);
  method.start_stream = [](const Method& self, grpc::CallbackServerContext* context, const void*,
                           void*) -> grpc::internal::StreamReactor* {
    auto* generic = static_cast<grpc::GenericCallbackServerContext*>(context);
    name(*generic, *context->drover_call());
    return static_cast<grpc::CallbackGenericService*>(self.service)->CreateReactor(generic);
  };
  return method;
}

void GenericCalls::serve(grpc::AsyncGenericService& service, std::shared_ptr<CallRequests> requests, uint32_t number) {
  service.requests_ = std::move(requests);
  service.number_ = number;
}

void GenericCalls::name(grpc::GenericServerContext& context, const Call& call) {
  context.method_ = call.path();
  context.host_ = call.authority();
}

void GenericCalls::name(grpc::GenericCallbackServerContext& context, const Call& call) {
  context.method_ = call.path();
  context.host_ = call.authority();
}

}  // namespace drover::host

namespace grpc {

void AsyncGenericService::RequestCall(GenericServerContext* context, GenericServerAsyncReaderWriter* reader_writer,
                                      CompletionQueue* call_queue, ServerCompletionQueue* notification_queue,
                                      void* tag) {
  if (requests_ == nullptr) drover::fatal("a call was requested of a generic service that no server serves");
  requests_->request({number_, context, reader_writer, nullptr, &call_queue->drover_events(),
                      &notification_queue->drover_events(), tag});
}

}  // namespace grpc
