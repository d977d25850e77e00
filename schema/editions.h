// Editions for libprotobuf 3.21, whose DescriptorPool supports proto2 and proto3 only: rewrites an editions file, as a
// FileDescriptorProto, into the equivalent proto2 file.
//
//   field_presence = LEGACY_REQUIRED      required
//   repeated_field_encoding               [packed = ...]
//   message_encoding = DELIMITED          a group (but for maps and their values, which never are)
//   implicit presence, open enums, UTF-8  proto2 has no word for them; features_of (features.h) tells
//
// Inheritance is resolved here, file to message to oneof to field: afterwards each field and each enum carries its
// own complete FeatureSet in its options.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>

namespace drover::schema {

// Whether the file says `edition = "..."`.
bool is_editions_file(const google::protobuf::FileDescriptorProto& file);

// Rewrites an editions file, or a proto3 file (which has to follow where it imports an editions file: no proto3
// message may have a field of an enum that the pool takes for proto2's). Returns an empty string, or what is wrong:
// an edition or feature that Drover does not know, or that contradicts another.
std::string rewrite_as_proto2(google::protobuf::FileDescriptorProto* file);

// The error in a proto2 or proto3 file that has features, which only editions files may have; empty if it has none.
std::string check_no_features(const google::protobuf::FileDescriptorProto& file);

}  // namespace drover::schema
