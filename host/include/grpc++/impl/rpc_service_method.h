// The name that <grpcpp/impl/rpc_service_method.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>
