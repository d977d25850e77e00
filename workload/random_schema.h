// Schemas from a seed, for tests that must not depend on hand-picked schemas: any mix of kinds,
// labels, oneofs, maps, groups, enums, nested and recursive types, sparse and large field numbers, proto2 and proto3.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drover::workload {

struct SchemaOptions {
  enum class Syntax { kEither, kProto2, kProto3 };
  Syntax syntax = Syntax::kEither;
  uint32_t max_messages = 5;  // at the top level; at least 1
  uint32_t max_fields = 40;   // of a message; it may have none
  bool maps = true;
  bool oneofs = true;
  bool enums = true;
  bool groups = true;            // proto2 only
  bool required = true;          // proto2 only; required fields are never messages, so that every type can be filled
  bool defaults = true;          // proto2 only
  bool extension_ranges = true;  // proto2 only
  bool nested_types = true;
  bool large_numbers = true;  // field numbers up to 2^29 - 1
};

// One file, "random.proto", package "r"; its messages are r.M0, r.M1, ... and those nested in them.
google::protobuf::FileDescriptorSet random_schema(uint64_t seed, const SchemaOptions& options = {});

// The full names of all messages of a set, nested ones too, map entries not, in the order of the files.
std::vector<std::string> message_names(const google::protobuf::FileDescriptorSet& files);

}  // namespace drover::workload
