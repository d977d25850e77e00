// The name that <grpcpp/impl/codegen/grpc_library.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/grpc_library.h>
