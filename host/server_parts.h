// What a grpc::Server is made of.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "host/call_requests.h"
#include "host/health/health_service.h"
#include "host/runtime.h"

namespace drover::host {

// What the services carry for server reflection: a FileDescriptorSet's bytes.
std::string descriptors_of(const std::vector<grpc::Service*>& services);

// ServerBuilder's message limits as flags of an engine that we start; 0: not set, -1: no limit.
void add_limit_flags(int max_receive_bytes, int max_send_bytes, HostOptions* options);

}  // namespace drover::host

namespace grpc {

struct Server::Parts {
  std::unique_ptr<drover::host::HealthService> health;   // outlives the runtime, whose calls it serves
  std::shared_ptr<drover::host::CallRequests> requests;  // null: no method is asynchronous
  std::unique_ptr<drover::host::Runtime> runtime;
};

}  // namespace grpc
