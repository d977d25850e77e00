// The name that <grpcpp/impl/codegen/call.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/call.h>
