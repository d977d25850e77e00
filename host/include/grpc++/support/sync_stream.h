// The name that <grpcpp/support/sync_stream.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/sync_stream.h>
