// The name that <grpcpp/support/status.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/status.h>
