// The binary payloads of the conformance suite, as conformance_testee --dump keeps them: a payload a file, named
// <message>-<number>; and the common part of the programs that replay them through the RTL.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "schema/dynamic_schema.h"
#include "tests/conformance/share_bound.h"

namespace drover::conformance {

constexpr int kSkipped = 77;  // exit status of a replay without payloads

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Payload {
  std::string name, wire;
  schema::MessageType type;
};

// In the order of their names; those of unknown messages are left out.
inline std::deque<Payload> load_payloads(const schema::DynamicSchema& schema, const std::filesystem::path& directory) {
  std::deque<Payload> payloads;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::string name = entry.path().filename();
    std::optional<schema::MessageType> type = schema.find_message(name.substr(0, name.rfind('-')));
    if (type) payloads.push_back({name, read_file(entry.path()), *type});
  }
  std::sort(payloads.begin(), payloads.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return payloads;
}

struct ReplayOptions {
  uint32_t stalls = 0;
  ShareBound share;
};

// NAME FILE DIR --least-done N --most-left N [--stalls N]: FILE is the FileDescriptorSet of the suite's .proto files,
// DIR holds the payloads. Ends as `replay(schema, payloads, options)` says, with kSkipped if there are no payloads.
template <typename Replay>
int replay_main(int argc, char** argv, const char* name, const char* what, Replay replay) {
  CLI::App app(what);
  std::string descriptors, directory;
  ReplayOptions options;
  app.add_option("FILE", descriptors, "FileDescriptorSet of the suite's .proto files")->required();
  app.add_option("DIR", directory, "the payloads")->required();
  app.add_option("--least-done", options.share.least_done, "payloads that the hardware must do itself")->required();
  app.add_option("--most-left", options.share.most_left, "payloads that it may leave to software")->required();
  app.add_option("--stalls", options.stalls, "of 256 cycles, in how many each stream stands still")
      ->check(CLI::Range(0, 250));
  CLI11_PARSE(app, argc, argv);
  if (!std::filesystem::is_directory(directory)) {
    std::printf("skipped: %s is not there: the conformance runner has not run\n", directory.c_str());
    return kSkipped;
  }
  schema::DynamicSchema schema;
  std::string error = schema::DynamicSchema::load(read_file(descriptors), &schema);
  if (!error.empty()) {
    std::printf("%s: %s: %s\n", name, descriptors.c_str(), error.c_str());
    return 1;
  }
  std::deque<Payload> payloads = load_payloads(schema, directory);
  if (payloads.empty()) {
    std::printf("skipped: %s holds no payloads\n", directory.c_str());
    return kSkipped;
  }
  return replay(schema, payloads, options);
}

}  // namespace drover::conformance
