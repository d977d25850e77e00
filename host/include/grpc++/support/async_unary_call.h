// The name that <grpcpp/support/async_unary_call.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/async_unary_call.h>
