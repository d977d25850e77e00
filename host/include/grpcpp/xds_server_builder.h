// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error "<grpcpp/xds_server_builder.h>: Drover has no xDS: use ServerBuilder of <grpcpp/server_builder.h>"
