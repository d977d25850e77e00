// Forwards to <grpcpp/support/server_callback.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/server_callback.h>
