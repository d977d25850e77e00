// The name that <grpcpp/client_context.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/client_context.h>
