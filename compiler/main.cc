// protoc-gen-drover: run by protoc as a plugin, `protoc --drover_out=DIR foo.proto`.
#include "compiler/plugin.h"

int main() { return drover::compiler::run_plugin(); }
