// The name that <grpcpp/impl/codegen/rpc_service_method.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/rpc_service_method.h>
