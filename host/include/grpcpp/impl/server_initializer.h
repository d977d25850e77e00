// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/impl/server_initializer.h>: this header has the inside of gRPC, which Drover does not have: include the public header of what you need, such as <grpcpp/grpcpp.h>"
