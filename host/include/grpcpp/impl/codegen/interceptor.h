// Forwards to <grpcpp/support/interceptor.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/interceptor.h>
