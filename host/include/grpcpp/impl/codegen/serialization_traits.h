// Forwards to <grpcpp/impl/serialization_traits.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/impl/serialization_traits.h>
