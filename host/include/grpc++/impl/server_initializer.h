// The name that <grpcpp/impl/server_initializer.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/server_initializer.h>
