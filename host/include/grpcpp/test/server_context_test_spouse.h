// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error \
    "<grpcpp/test/server_context_test_spouse.h>: Drover's contexts and reactors have no test peers: call the handler with a context that you have made yourself"
