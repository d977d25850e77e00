// The name that <grpcpp/impl/codegen/serialization_traits.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/serialization_traits.h>
