// protoc-gen-drover's CodeGenerator: for foo.proto the files foo.pb.{h,cc} and foo.grpc.pb.{h,cc}.
#pragma once

#include <google/protobuf/compiler/code_generator.h>

#include <string>

namespace drover::compiler {

class Generator : public google::protobuf::compiler::CodeGenerator {
 public:
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }
};

}  // namespace drover::compiler
