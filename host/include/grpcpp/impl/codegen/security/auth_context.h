// Forwards to <grpcpp/security/auth_context.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/security/auth_context.h>
