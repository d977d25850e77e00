// The name that <grpcpp/health_check_service_interface.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/health_check_service_interface.h>
