// The name that <grpcpp/impl/codegen/status.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/status.h>
