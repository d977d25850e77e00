// bench_schemas --out DIR [--hyperprotobench DIR]: writes the schemas of the codec benchmark as descriptor sets,
// OUT/NAME.fds, from which the build makes protobuf C++'s generated classes.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/codec/bench_message.h"
#include "bench/codec/kinds.h"

namespace {

bool write_schemas(const drover::bench::BenchMessages& from, const std::string& out) {
  if (!from.error.empty()) {
    std::fprintf(stderr, "bench_schemas: %s\n", from.error.c_str());
    return false;
  }
  for (const auto& [name, schema] : from.schemas) {
    std::string path = out + "/" + name + ".fds";
    std::ofstream file(path, std::ios::binary);
    if (!schema->SerializeToOstream(&file) || !file.flush()) {
      std::fprintf(stderr, "bench_schemas: cannot write %s\n", path.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  std::string out;
  CLI::App app("Writes the schemas of the codec benchmark as descriptor sets.");
  app.add_option("--hyperprotobench", directory, "folder with benchN/schema.fds, messages.bin");
  app.add_option("--out", out, "folder for the descriptor sets")->required();
  CLI11_PARSE(app, argc, argv);
  if (!write_schemas(drover::bench::kind_messages(), out)) return 1;
  if (!directory.empty() && !write_schemas(drover::bench::hyperprotobench_messages(directory), out)) return 1;
  return 0;
}
