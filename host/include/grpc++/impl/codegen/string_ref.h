// The name that <grpcpp/impl/codegen/string_ref.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/string_ref.h>
