// The name that <grpcpp/impl/codegen/config.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/config.h>
