// The name that <grpcpp/impl/codegen/client_unary_call.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/client_unary_call.h>
