// The name that <grpcpp/support/time.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/time.h>
