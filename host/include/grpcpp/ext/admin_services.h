// Admin services: what clients may ask a server about itself. gRPC's function, with one service: channelz. Client
// status discovery (CSDS), which gRPC adds in a build with xDS, is not there.
#pragma once

#include <grpcpp/server_builder.h>

namespace grpc {

// Before BuildAndStart.
inline void AddAdminServices(ServerBuilder* builder) { builder->drover_serve_channelz(); }

}  // namespace grpc
