// The name that <grpcpp/impl/serialization_traits.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/serialization_traits.h>
