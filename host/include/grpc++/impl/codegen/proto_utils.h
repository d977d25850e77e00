// The name that <grpcpp/impl/codegen/proto_utils.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
