// The binary payloads of the conformance suite, as conformance_testee --dump keeps them: a payload a file, named
// <message>-<number>. For what replays them through the RTL.
#pragma once

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "schema/dynamic_schema.h"

namespace drover::conformance {

constexpr int kSkipped = 77;  // what a replay ends with if there are none

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

}  // namespace drover::conformance
