// protoc's side of protoc-gen-drover (google/protobuf/compiler/plugin.proto): a CodeGeneratorRequest becomes a
// CodeGeneratorResponse.
//
// It replaces libprotoc 3.21's PluginMain, which does not support editions: schema/descriptor_files.h links the files,
// and the response announces editions 2023 and 2024.
#pragma once

#include <google/protobuf/compiler/plugin.pb.h>

namespace drover::compiler {

// Errors in the .proto files go into the response's `error`, as the protocol requires.
google::protobuf::compiler::CodeGeneratorResponse answer(
    const google::protobuf::compiler::CodeGeneratorRequest& request);

// A plugin's main: reads the request from standard input, writes the response to standard output. Returns the process's
// exit status.
int run_plugin();

}  // namespace drover::compiler
