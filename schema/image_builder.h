// Builds schema images: at build time for protoc-gen-drover, at run time from a FileDescriptorSet.
//
// The bytes depend only on the schema, not on the order of files or the machine.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "schema/descriptor_model.h"

namespace drover::schema {

struct BuildResult {
  std::string image;  // the bytes; copy them to 8-byte aligned memory to use them (OwnedImage::load does)
  std::string error;  // what is wrong with the schema; empty on success
  bool ok() const { return error.empty(); }
};

BuildResult build_image(const Schema& schema);
// The messages of these files and all they refer to.
BuildResult build_image(FileSpan files);
// The same for all files of the set, which must hold every file that one of them imports, in any order.
BuildResult build_image(const google::protobuf::FileDescriptorSet& set);

}  // namespace drover::schema
