// The name that <grpcpp/support/string_ref.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/support/string_ref.h>
