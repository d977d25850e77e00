// protoc's side of protoc-gen-drover (google/protobuf/compiler/plugin.proto): a CodeGeneratorRequest becomes a
// CodeGeneratorResponse.
//
// libprotoc 3.21's own PluginMain would do, did it know editions: here the files are linked by schema/
// descriptor_files.h, which does, and the response announces editions 2023 and 2024.
#pragma once

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/compiler/plugin.pb.h>

namespace drover::compiler {

// What is wrong with the .proto files goes into the response's `error`, as the protocol wants it.
google::protobuf::compiler::CodeGeneratorResponse answer(
    const google::protobuf::compiler::CodeGeneratorRequest& request,
    const google::protobuf::compiler::CodeGenerator& generator);

// A plugin's main: reads the request from standard input, writes the response to standard output. What it returns is
// the process's exit status.
int run_plugin(const google::protobuf::compiler::CodeGenerator& generator);

}  // namespace drover::compiler
