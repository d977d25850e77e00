// From protobuf descriptors to the schema model: what proto2, proto3, editions and their options mean to Drover.
//
// The model has every message, enum and extension of the given files, including nested ones and map entries, and all
// that they refer to in other files. An extension is not a field of the message that it extends (its bytes stay among
// the unknown fields); it is the only field of a message of its own (model.h, extension_entry_name). Custom options,
// which extend descriptor.proto, are left out unless that file is one of those given.
#pragma once

#include <google/protobuf/descriptor.h>

#include <span>
#include <string>

#include "schema/model.h"

namespace drover::schema {

using FileSpan = std::span<const google::protobuf::FileDescriptor* const>;

// Fills *out, laid out. Returns an empty string, or which limit of the formats is exceeded.
std::string schema_from_files(FileSpan files, Schema* out);

}  // namespace drover::schema
