// bench_schemas --hyperprotobench DIR --out DIR: writes the renamed schemas of the codec benchmark as descriptor sets,
// OUT/benchN.fds, from which the build makes protobuf C++'s generated classes.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/codec/bench_message.h"

int main(int argc, char** argv) {
  std::string directory;
  std::string out;
  CLI::App app("Writes the schemas of the codec benchmark as descriptor sets.");
  app.add_option("--hyperprotobench", directory, "folder with benchN/schema.fds")->required();
  app.add_option("--out", out, "folder for benchN.fds")->required();
  CLI11_PARSE(app, argc, argv);
  for (int bench : drover::bench::kPublishedBenches) {
    auto set = drover::bench::hyperprotobench_schema(directory, bench);
    std::string name = "bench" + std::to_string(bench);
    if (set.file_size() == 0) {
      std::fprintf(stderr, "bench_schemas: %s/%s/schema.fds holds no schema\n", directory.c_str(), name.c_str());
      return 1;
    }
    std::ofstream file(out + "/" + name + ".fds", std::ios::binary);
    if (!set.SerializeToOstream(&file) || !file.flush()) {
      std::fprintf(stderr, "bench_schemas: cannot write %s/%s.fds\n", out.c_str(), name.c_str());
      return 1;
    }
  }
  return 0;
}
