// Forwards to <grpcpp/impl/proto_utils.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/impl/proto_utils.h>
