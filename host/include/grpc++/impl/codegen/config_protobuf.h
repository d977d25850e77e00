// The name that <grpcpp/impl/codegen/config_protobuf.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/config_protobuf.h>
