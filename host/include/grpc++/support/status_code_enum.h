// The name that <grpcpp/support/status_code_enum.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/status_code_enum.h>
