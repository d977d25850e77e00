// Server reflection: clients ask the server for its services and their descriptors (grpc.reflection.v1 and v1alpha).
// The engine answers, from the descriptors that generated services carry; docs/guide.md, "Server reflection".
#pragma once

namespace grpc::reflection {

// Servers built from now on take part in reflection. Not thread-safe.
void InitProtoReflectionServerBuilderPlugin();

}  // namespace grpc::reflection
