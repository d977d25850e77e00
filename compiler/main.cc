// protoc-gen-drover: run by protoc as a plugin, `protoc --drover_out=DIR foo.proto`.
#include "compiler/generator.h"
#include "compiler/plugin.h"

int main() {
  drover::compiler::Generator generator;
  return drover::compiler::run_plugin(generator);
}
