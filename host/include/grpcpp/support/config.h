// Names that gRPC's headers define for others' use.
#pragma once

#include <string>

#ifndef GRPC_FINAL
#define GRPC_FINAL final
#endif
#ifndef GRPC_OVERRIDE
#define GRPC_OVERRIDE override
#endif

namespace grpc {
using std::string;
using std::to_string;
}  // namespace grpc
