// GenericCalls: generic services as methods that the runtime serves, and the names of their calls.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/drover_service.h>

#include <memory>

#include "host/call_requests.h"

namespace drover::host {

class Call;

struct GenericCalls {
  // The method that takes a server's calls of any path; the service outlives the server.
  static grpc::internal::Method method(grpc::AsyncGenericService& service);
  static grpc::internal::Method method(grpc::CallbackGenericService& service);
  // The calls are asked for there from now on, as those of the method `number`.
  static void serve(grpc::AsyncGenericService& service, std::shared_ptr<CallRequests> requests, uint32_t number);
  // Before the application sees the context.
  static void name(grpc::GenericServerContext& context, const Call& call);
  static void name(grpc::GenericCallbackServerContext& context, const Call& call);
};

}  // namespace drover::host
