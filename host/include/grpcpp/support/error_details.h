// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/support/error_details.h>: Drover has no google/rpc/status.proto of its own: compile it with drover_generate, and pass its bytes as the third argument of grpc::Status"
