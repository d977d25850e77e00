// The gRPC release whose server API Drover follows, for sources that ask with the preprocessor.
#pragma once

#define GRPC_CPP_VERSION_MAJOR 1
#define GRPC_CPP_VERSION_MINOR 51
#define GRPC_CPP_VERSION_PATCH 1
#define GRPC_CPP_VERSION_TAG ""
#define GRPC_CPP_VERSION_STRING "1.51.1"

// Tells Drover's headers from gRPC's.
#define DROVER_HOST 1

#include <string>

namespace grpc {
inline std::string Version() { return GRPC_CPP_VERSION_STRING; }
}  // namespace grpc
