// protoc-gen-drover: run by protoc as a plugin, `protoc --drover_out=DIR foo.proto`.
#include <google/protobuf/compiler/plugin.h>

#include "compiler/generator.h"

int main(int argc, char** argv) {
  drover::compiler::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
