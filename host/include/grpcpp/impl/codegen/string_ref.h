// Forwards to <grpcpp/support/string_ref.h>, where gRPC has had it since the codegen folder went.
#pragma once

#include <grpcpp/support/string_ref.h>
