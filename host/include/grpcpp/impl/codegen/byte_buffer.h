// Forwards to <grpcpp/support/byte_buffer.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/byte_buffer.h>
