// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/server_posix.h>: Drover serves no descriptors of the application: the engine listens (ServerBuilder::AddListeningPort)"
