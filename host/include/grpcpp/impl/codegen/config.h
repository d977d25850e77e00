// Forwards to <grpcpp/support/config.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/config.h>
