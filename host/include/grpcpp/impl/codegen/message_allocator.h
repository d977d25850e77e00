// A header of gRPC that Drover does not have: stock gRPC's, found in its place, would end in a storm of errors.
#pragma once

#error "<grpcpp/impl/codegen/message_allocator.h>: Drover allocates requests and replies itself, in shared memory"
