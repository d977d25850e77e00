// Forwards to <grpcpp/impl/call_op_set.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/impl/call_op_set.h>
