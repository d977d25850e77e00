// Forwards to <grpcpp/support/status_code_enum.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/status_code_enum.h>
