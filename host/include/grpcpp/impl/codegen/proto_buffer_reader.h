// Forwards to <grpcpp/support/proto_buffer_reader.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/proto_buffer_reader.h>
