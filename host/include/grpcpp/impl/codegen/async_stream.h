// Forwards to <grpcpp/support/async_stream.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/async_stream.h>
