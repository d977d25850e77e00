// The name that <grpcpp/ext/health_check_service_server_builder_option.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/ext/health_check_service_server_builder_option.h>
