// Forwards to <grpcpp/support/status.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/status.h>
