// The name that <grpcpp/impl/codegen/sync_stream.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/sync_stream.h>
