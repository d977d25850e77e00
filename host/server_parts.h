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
// A channel argument of gRPC's as a flag of an engine that we start, within what its key takes; INT_MAX is gRPC's
// "never". Empty: the argument has no effect on the engine.
std::string engine_flag_of(const std::string& argument, int value);
// Shared memory, as Hello asks for it, for messages of up to that many bytes; negative: without a limit. 0: the
// engine's own size has room for them. The size is that of address space: memory is taken when messages use it. Each
// worker has it once for each thread of the engine, and all of it counts in the engine's limits.
uint64_t region_bytes_for(int max_message_bytes, uint32_t workers);
// The most that region_bytes_for gives to all workers together. One worker: for messages of up to 500 MiB.
inline constexpr uint64_t kMostRegionBytes = uint64_t{1} << 30;

}  // namespace drover::host

namespace grpc {

struct Server::Parts {
  std::unique_ptr<drover::host::HealthService> health;   // outlives the runtime, whose calls it serves
  std::shared_ptr<drover::host::CallRequests> requests;  // null: no method is asynchronous
  std::unique_ptr<drover::host::Runtime> runtime;
};

}  // namespace grpc
