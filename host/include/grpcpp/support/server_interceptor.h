// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/support/server_interceptor.h>: Drover has no interceptors yet: do the same at the beginning of each handler"
