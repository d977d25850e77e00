// The name that <grpcpp/generic/async_generic_service.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
