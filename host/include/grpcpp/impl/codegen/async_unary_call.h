// Forwards to <grpcpp/support/async_unary_call.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/async_unary_call.h>
