// The name that <grpcpp/impl/codegen/core_codegen.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/core_codegen.h>
