// The name that <grpcpp/server_builder.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/server_builder.h>
