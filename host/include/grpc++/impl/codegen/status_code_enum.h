// The name that <grpcpp/impl/codegen/status_code_enum.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/status_code_enum.h>
