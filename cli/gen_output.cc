// Generated messages into files.
#include "cli/gen_output.h"

#include <map>

#include "cli/file_io.h"
#include "codec/decode/decode.h"
#include "json/json.h"
#include "workload/value_tree.h"

namespace drover::cli {
namespace {

std::string append_json(const workload::WorkloadMessage& message, std::string* out) {
  Arena arena;
  auto* object = static_cast<Message*>(arena.allocate_zeroed(message.type.entry().object_size));
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  DecodeResult decoded = decode(message.type, object, message.wire, arena, {.depth_limit = 1000, .alias = true});
  if (!decoded.ok()) return message.name + ": " + to_string(decoded);
  json::PrintOptions options;
  options.depth_limit = 1000;
  json::Result printed = json::print(message.type, *object, options, out);
  *out += "\n";
  return printed.ok() ? "" : message.name + ": " + json::to_string(printed);
}

std::string append(const workload::WorkloadMessage& message, GenFormat format, std::string* out) {
  switch (format) {
    case GenFormat::kBinary:
      *out += message.wire;
      return "";
    case GenFormat::kDelimited:
      workload::append_varint(message.wire.size(), out);
      *out += message.wire;
      return "";
    case GenFormat::kHex:
      *out += to_hex(message.wire) + "\n";
      return "";
    case GenFormat::kJson:
      return append_json(message, out);
  }
  return "";
}

std::string write_schemas(const workload::Workload& workload, const std::string& directory) {
  for (const workload::Group& group : workload.groups) {
    std::string error = write_file(directory + "/" + group.name + ".fds", group.files.SerializeAsString());
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace

std::string write_workload(const workload::Workload& workload, GenFormat format, const std::string& directory) {
  static constexpr const char* kSuffixes[] = {".bin", ".delimited", ".hex", ".json"};
  if (directory == "-") {
    if (format == GenFormat::kBinary) return "raw messages cannot share stdout: choose --format delimited, hex or json";
    std::string out;
    for (const workload::WorkloadMessage& message : workload.messages) {
      if (std::string error = append(message, format, &out); !error.empty()) return error;
    }
    return write_file("-", out);
  }
  if (std::string error = make_directory(directory); !error.empty()) return error;
  std::map<std::string, std::string> files;
  for (const workload::WorkloadMessage& message : workload.messages) {
    // Types of different groups may have the same name.
    std::string stem = format == GenFormat::kBinary ? message.name
                       : workload.groups.size() > 1
                           ? workload.groups[message.group].name + "." + std::string(message.full_name())
                           : std::string(message.full_name());
    std::string error = append(message, format, &files[stem + kSuffixes[static_cast<size_t>(format)]]);
    if (!error.empty()) return error;
  }
  for (const auto& [name, bytes] : files) {
    if (std::string error = write_file(directory + "/" + name, bytes); !error.empty()) return error;
  }
  return write_schemas(workload, directory);
}

}  // namespace drover::cli
