// The name that <grpcpp/impl/codegen/server_context.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/server_context.h>
