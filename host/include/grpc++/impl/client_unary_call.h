// The name that <grpcpp/impl/client_unary_call.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/client_unary_call.h>
