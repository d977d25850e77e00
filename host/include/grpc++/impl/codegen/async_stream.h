// The name that <grpcpp/impl/codegen/async_stream.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/async_stream.h>
