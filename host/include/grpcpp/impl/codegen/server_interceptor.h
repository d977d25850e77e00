// Forwards to <grpcpp/support/server_interceptor.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/server_interceptor.h>
