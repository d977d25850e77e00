// The name that <grpcpp/support/error_details.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/error_details.h>
