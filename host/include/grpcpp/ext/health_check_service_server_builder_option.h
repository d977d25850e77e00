// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/ext/health_check_service_server_builder_option.h>: Drover has its own health service only: call EnableDefaultHealthCheckService of <grpcpp/health_check_service_interface.h>"
