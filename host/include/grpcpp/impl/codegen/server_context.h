// Forwards to <grpcpp/server_context.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/server_context.h>
