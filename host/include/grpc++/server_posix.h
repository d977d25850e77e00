// The name that <grpcpp/server_posix.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/server_posix.h>
