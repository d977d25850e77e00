// The name that <grpcpp/impl/codegen/slice.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/slice.h>
