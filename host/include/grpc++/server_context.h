// The name that <grpcpp/server_context.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/server_context.h>
