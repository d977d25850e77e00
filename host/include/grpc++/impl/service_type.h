// The name that <grpcpp/impl/service_type.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/service_type.h>
