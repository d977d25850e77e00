// The generated files are kept in the response as they are written.
#include "compiler/plugin.h"

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "compiler/generator.h"
#include "schema/descriptor_files.h"
#include "schema/features.h"

namespace drover::compiler {
namespace {

using google::protobuf::compiler::CodeGeneratorRequest;
using google::protobuf::compiler::CodeGeneratorResponse;

// Members of CodeGeneratorResponse that 3.21's plugin.proto lacks.
constexpr uint64_t kSupportsEditions = 2;  // a bit of supported_features
constexpr int kMinimumEdition = 3, kMaximumEdition = 4;

class ResponseFiles final : public google::protobuf::compiler::GeneratorContext {
 public:
  explicit ResponseFiles(CodeGeneratorResponse* response) : response_(response) {}
  google::protobuf::io::ZeroCopyOutputStream* Open(const std::string& name) override {
    auto* file = response_->add_file();
    file->set_name(name);
    return new google::protobuf::io::StringOutputStream(file->mutable_content());
  }

 private:
  CodeGeneratorResponse* response_;
};

// Empty, or what is wrong.
std::string generate_all(const CodeGeneratorRequest& request, const Generator& generator,
                         CodeGeneratorResponse* response) {
  schema::DescriptorFiles files;
  std::string error = files.link(request.proto_file());
  if (!error.empty()) return error;
  ResponseFiles context(response);
  for (const std::string& name : request.file_to_generate()) {
    const google::protobuf::FileDescriptor* file = files.find(name);
    if (file == nullptr) return name + ": protoc wants code for it but does not say what is in it";
    if (!generator.Generate(file, request.parameter(), &context, &error)) return error.insert(0, name + ": ");
  }
  return {};
}

}  // namespace

CodeGeneratorResponse answer(const CodeGeneratorRequest& request) {
  const Generator generator(&request.proto_file());
  CodeGeneratorResponse response;
  std::string error = generate_all(request, generator, &response);
  if (!error.empty()) {
    response.clear_file();
    response.set_error(error);
  }
  response.set_supported_features(generator.GetSupportedFeatures() | kSupportsEditions);
  response.mutable_unknown_fields()->AddVarint(kMinimumEdition, schema::kEdition2023);
  response.mutable_unknown_fields()->AddVarint(kMaximumEdition, schema::kEdition2024);
  return response;
}

int run_plugin() {
  CodeGeneratorRequest request;
  if (!request.ParseFromFileDescriptor(STDIN_FILENO)) {
    std::fprintf(stderr, "protoc-gen-drover: protoc's request does not parse\n");
    return 1;
  }
  if (!answer(request).SerializeToFileDescriptor(STDOUT_FILENO)) {
    std::fprintf(stderr, "protoc-gen-drover: protoc does not take the response\n");
    return 1;
  }
  return 0;
}

}  // namespace drover::compiler
