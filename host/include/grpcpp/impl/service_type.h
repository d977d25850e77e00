// Forwards to <grpcpp/impl/drover_service.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/impl/drover_service.h>
