// The name that <grpcpp/generic/generic_stub.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/generic/generic_stub.h>
