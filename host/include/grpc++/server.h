// The name that <grpcpp/server.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/server.h>
