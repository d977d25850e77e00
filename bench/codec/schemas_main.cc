// bench_schemas --out DIR [--hyperprotobench DIR]: writes the schemas of the codec benchmark as descriptor sets,
// OUT/NAME.fds, from which the build makes protobuf C++'s generated classes. Unchanged files are not rewritten, so that
// a change of the codec, which this program is linked with, does not rebuild the classes.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "bench/codec/bench_message.h"
#include "bench/codec/kinds.h"

namespace {

bool write_if_changed(const std::string& path, const std::string& bytes) {
  std::ifstream old(path, std::ios::binary);
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == bytes) return true;
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return static_cast<bool>(file.flush());
}

bool write_schemas(const drover::bench::BenchMessages& from, const std::string& out) {
  if (!from.error.empty()) {
    std::fprintf(stderr, "bench_schemas: %s\n", from.error.c_str());
    return false;
  }
  for (const auto& [name, schema] : from.schemas) {
    std::string path = out + "/" + name + ".fds";
    if (write_if_changed(path, schema->SerializeAsString())) continue;
    std::fprintf(stderr, "bench_schemas: cannot write %s\n", path.c_str());
    return false;
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
  bool ok = write_schemas(drover::bench::kind_messages(), out) && write_schemas(drover::bench::builtin_messages(), out);
  if (ok && !directory.empty()) ok = write_schemas(drover::bench::hyperprotobench_messages(directory), out);
  return ok ? 0 : 1;
}
