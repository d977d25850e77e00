// The name that <grpcpp/test/server_context_test_spouse.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/test/server_context_test_spouse.h>
