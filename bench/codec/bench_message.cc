#include "bench/codec/bench_message.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace drover::bench {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FileDescriptorSet;

constexpr std::string_view kOldPackage = ".hyperprotobench.";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void rename_types(DescriptorProto* message, const std::string& package) {
  for (auto& field : *message->mutable_field()) {
    if (field.type_name().starts_with(kOldPackage)) {
      field.set_type_name("." + package + "." + field.type_name().substr(kOldPackage.size()));
    }
  }
  for (auto& nested : *message->mutable_nested_type()) rename_types(&nested, package);
}

// One length-prefixed part of messages.bin; false at its end.
bool take_part(std::string_view* data, std::string_view* part) {
  uint32_t size = 0;
  if (data->size() < sizeof(size)) return false;
  std::memcpy(&size, data->data(), sizeof(size));
  data->remove_prefix(sizeof(size));
  if (size > data->size()) return false;
  *part = data->substr(0, size);
  data->remove_prefix(size);
  return true;
}

}  // namespace

FileDescriptorSet hyperprotobench_schema(const std::filesystem::path& directory, int bench) {
  std::string name = "bench" + std::to_string(bench);
  FileDescriptorSet set;
  if (!set.ParseFromString(read_file(directory / name / "schema.fds")) || set.file_size() != 1) return {};
  auto* file = set.mutable_file(0);
  std::string package = "codec_bench." + name;
  file->set_name("codec_bench/" + name + ".proto");
  file->set_package(package);
  for (auto& message : *file->mutable_message_type()) rename_types(&message, package);
  return set;
}

std::vector<BenchMessage> hyperprotobench_messages(const std::filesystem::path& directory, std::string* error) {
  std::vector<BenchMessage> messages;
  for (int bench : kPublishedBenches) {
    std::string set_name = "bench" + std::to_string(bench);
    auto schema = std::make_shared<FileDescriptorSet>(hyperprotobench_schema(directory, bench));
    if (schema->file_size() == 0) {
      *error = (directory / set_name / "schema.fds").string() + ": no FileDescriptorSet of one file";
      return {};
    }
    std::string bytes = read_file(directory / set_name / "messages.bin");
    std::string_view rest = bytes;
    std::string_view name;
    std::string_view wire;
    while (take_part(&rest, &name) && take_part(&rest, &wire)) {
      messages.push_back({set_name + "." + std::string(name), set_name,
                          "codec_bench." + set_name + "." + std::string(name), schema, std::string(wire)});
    }
    if (!rest.empty()) {
      *error = (directory / set_name / "messages.bin").string() + ": cut short";
      return {};
    }
  }
  return messages;
}

}  // namespace drover::bench
