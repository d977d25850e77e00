// The name that <grpcpp/support/byte_buffer.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/byte_buffer.h>
