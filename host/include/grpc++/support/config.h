// The name that <grpcpp/support/config.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/config.h>
