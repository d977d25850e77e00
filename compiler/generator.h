// protoc-gen-drover's CodeGenerator: for foo.proto the files foo.pb.{h,cc} and foo.grpc.pb.{h,cc}.
#pragma once

#include <google/protobuf/compiler/code_generator.h>

#include <string>

#include "compiler/descriptor_text.h"

namespace drover::compiler {

class Generator : public google::protobuf::compiler::CodeGenerator {
 public:
  // `sources` outlives the generator; null: it does not know the files as they were.
  explicit Generator(const SourceFiles* sources = nullptr) : sources_(sources) {}
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }

 private:
  const SourceFiles* const sources_;
};

}  // namespace drover::compiler
