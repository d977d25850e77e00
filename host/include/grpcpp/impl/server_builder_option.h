// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error "<grpcpp/impl/server_builder_option.h>: Drover has no plug-ins of ServerBuilder"
