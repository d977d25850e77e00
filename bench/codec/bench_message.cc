#include "bench/codec/bench_message.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace drover::bench {
namespace {

using google::protobuf::DescriptorProto;

constexpr int kPublishedBenches[] = {0, 1, 3, 4};
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

// Null if the file does not exist or holds something else.
std::shared_ptr<Schema> renamed_schema(const std::filesystem::path& path, const std::string& name) {
  auto schema = std::make_shared<Schema>();
  if (!schema->ParseFromString(read_file(path)) || schema->file_size() != 1) return nullptr;
  auto* file = schema->mutable_file(0);
  std::string package = "codec_bench." + name;
  file->set_name("codec_bench/" + name + ".proto");
  file->set_package(package);
  for (auto& message : *file->mutable_message_type()) rename_types(&message, package);
  return schema;
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

BenchMessages hyperprotobench_messages(const std::filesystem::path& directory) {
  BenchMessages result;
  for (int bench : kPublishedBenches) {
    std::string bench_name = "bench" + std::to_string(bench);
    auto schema = renamed_schema(directory / bench_name / "schema.fds", bench_name);
    if (schema == nullptr) {
      return {{}, {}, (directory / bench_name / "schema.fds").string() + ": no FileDescriptorSet of one file"};
    }
    result.schemas.push_back({bench_name, schema});
    std::string bytes = read_file(directory / bench_name / "messages.bin");
    std::string_view rest = bytes;
    std::string_view name;
    std::string_view wire;
    while (take_part(&rest, &name) && take_part(&rest, &wire)) {
      std::string full_name = bench_name + "." + std::string(name);
      result.messages.push_back({full_name, "hyperprotobench", "codec_bench." + full_name, schema, std::string(wire)});
    }
    if (!rest.empty() || bytes.empty()) {
      return {{}, {}, (directory / bench_name / "messages.bin").string() + ": cut short"};
    }
  }
  return result;
}

}  // namespace drover::bench
