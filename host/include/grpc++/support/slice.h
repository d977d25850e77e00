// The name that <grpcpp/support/slice.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/slice.h>
