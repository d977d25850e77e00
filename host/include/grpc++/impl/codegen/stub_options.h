// The name that <grpcpp/impl/codegen/stub_options.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/stub_options.h>
