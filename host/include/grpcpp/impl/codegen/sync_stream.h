// Forwards to <grpcpp/support/sync_stream.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/sync_stream.h>
