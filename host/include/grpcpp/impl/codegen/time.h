// Forwards to <grpcpp/support/time.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/time.h>
