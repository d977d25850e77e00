// Forwards to <grpcpp/support/slice.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/slice.h>
