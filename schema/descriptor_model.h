// From protobuf descriptors to the schema model: what proto2, proto3, editions and their options mean to Drover.
//
// Taken in: every message and enum of the given files, nested ones and map entries too, and all that their fields
// refer to in other files. Extensions get no field (their bytes stay among the unknown fields); the extended
// message says that it has extension ranges.
#pragma once

#include <google/protobuf/descriptor.h>

#include <span>
#include <string>

#include "schema/model.h"

namespace drover::schema {

using FileSpan = std::span<const google::protobuf::FileDescriptor* const>;

// Fills *out, laid out. Returns an empty string, or what does not fit the formats' limits.
std::string schema_from_files(FileSpan files, Schema* out);

}  // namespace drover::schema
