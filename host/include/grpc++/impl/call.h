// The name that <grpcpp/impl/call.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/call.h>
