// The name that <grpcpp/impl/codegen/byte_buffer.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/byte_buffer.h>
