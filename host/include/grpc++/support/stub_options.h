// The name that <grpcpp/support/stub_options.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/stub_options.h>
