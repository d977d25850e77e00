// The descriptors that a service carries for server reflection: those of its .proto file and of all that it imports.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>

namespace drover::compiler {

// Files as protoc gave them. What is linked may differ (schema/editions.h), and clients want the original.
using SourceFiles = google::protobuf::RepeatedPtrField<google::protobuf::FileDescriptorProto>;

// A FileDescriptorSet's bytes: the file and all that it imports, each behind those that it imports, without comments
// and positions. `sources` may be null; a file that it lacks is as it was linked.
std::string descriptor_set(const google::protobuf::FileDescriptor* file, const SourceFiles* sources);

}  // namespace drover::compiler
