// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/test/channel_test_peer.h>: Drover has no gRPC client: keep the client in another process, or in a library that includes gRPC's headers and none of Drover's"
