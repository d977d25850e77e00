// Forwards to <grpcpp/generic/async_generic_service.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
