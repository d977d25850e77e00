// The name that <grpcpp/test/mock_stream.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/test/mock_stream.h>
