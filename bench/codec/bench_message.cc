#include "bench/codec/bench_message.h"

#include <string_view>
#include <utility>

#include "workload/workload.h"

namespace drover::bench {
namespace {

using google::protobuf::DescriptorProto;

constexpr std::string_view kOldPackage = "hyperprotobench";

// The name in the new package; another package's name stays.
std::string renamed(const std::string& type_name, const std::string& package) {
  std::string old_start = "." + std::string(kOldPackage) + ".";
  return type_name.starts_with(old_start) ? "." + package + "." + type_name.substr(old_start.size()) : type_name;
}

void rename_types(DescriptorProto* message, const std::string& package) {
  for (auto& field : *message->mutable_field()) {
    if (field.has_type_name()) field.set_type_name(renamed(field.type_name(), package));
  }
  for (auto& nested : *message->mutable_nested_type()) rename_types(&nested, package);
}

void move_to_package(Schema* schema, const std::string& name) {
  auto* file = schema->mutable_file(0);
  file->set_name("codec_bench/" + name + ".proto");
  file->set_package("codec_bench." + name);
  for (auto& message : *file->mutable_message_type()) rename_types(&message, file->package());
}

BenchMessages from_workload(workload::WorkloadResult loaded, const char* set) {
  BenchMessages result;
  result.error = std::move(loaded.error);
  if (!result.error.empty()) return result;
  for (const auto& group : loaded.workload.groups) {
    auto schema = std::make_shared<Schema>(group.files);
    if (schema->file_size() == 1 && schema->file(0).package() == kOldPackage) move_to_package(schema.get(), group.name);
    result.schemas.push_back({group.name, schema});
  }
  for (const auto& message : loaded.workload.messages) {
    const auto& schema = result.schemas[message.group].schema;
    std::string full_name(message.full_name());
    if (full_name.starts_with(kOldPackage)) full_name = renamed("." + full_name, schema->file(0).package()).substr(1);
    result.messages.push_back({message.name, set, full_name, schema, message.wire});
  }
  return result;
}

}  // namespace

BenchMessages hyperprotobench_messages(const std::string& directory) {
  return from_workload(workload::load_hyperprotobench(directory), "hyperprotobench");
}

BenchMessages builtin_messages() {
  return from_workload(workload::hyperproto_like(workload::kDefaultSeed, workload::WorkloadPart::kPublished),
                       "builtin");
}

}  // namespace drover::bench
