// The name that <grpcpp/impl/codegen/service_type.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>
