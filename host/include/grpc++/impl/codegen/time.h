// The name that <grpcpp/impl/codegen/time.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/time.h>
