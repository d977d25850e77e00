// FileDescriptorProtos linked into descriptors: what a FileDescriptorSet or protoc's CodeGeneratorRequest holds, in
// any order, editions included.
//
// The input is hostile: whatever it holds, the result is descriptors or an error. The caller must bound its size:
// linking takes some dozens of times that in memory.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

#include "schema/descriptor_model.h"

namespace drover::schema {

// Owns the descriptors. Thread-safety: `link` one thread at a time; the rest is const.
class DescriptorFiles {
 public:
  // Adds the files, which must hold every file that one of them imports (`import option` ones may be absent).
  // Returns an empty string, or what is wrong; nothing can be linked after an error. An editions file, and a proto3
  // file that imports one, becomes a proto2 file with features (editions.h).
  std::string link(const google::protobuf::RepeatedPtrField<google::protobuf::FileDescriptorProto>& files);

  // Each behind those that it imports.
  FileSpan files() const { return files_; }
  // Null if no message has that name.
  const google::protobuf::FileDescriptor* find(const std::string& name) const { return pool_.FindFileByName(name); }

 private:
  google::protobuf::DescriptorPool pool_;
  std::vector<const google::protobuf::FileDescriptor*> files_;
};

}  // namespace drover::schema
