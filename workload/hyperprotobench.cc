// Reads the published HyperProtoBench from a directory. The files are outside data: lengths are checked against what
// is there, schemas by the schema builder and the image loader, messages by decoding them once.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codec/decode/decode.h"
#include "schema/image_builder.h"
#include "workload/group_image.h"
#include "workload/workload.h"

namespace drover::workload {
namespace {

constexpr const char* kPublished[] = {"bench0", "bench1", "bench3", "bench4"};
constexpr const char* kAll[] = {"bench0", "bench1", "bench2", "bench3", "bench4", "bench5"};

bool read_file(const std::filesystem::path& path, std::string* out) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  *out = std::move(bytes).str();
  return file.good() && !out->empty();
}

// Takes `u32 length, bytes` from the front of *rest; false if it is cut short.
bool take_record(std::string_view* rest, std::string_view* record) {
  if (rest->size() < 4) return false;
  uint32_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<unsigned char>((*rest)[static_cast<size_t>(i)]);
  rest->remove_prefix(4);
  if (rest->size() < size) return false;
  *record = rest->substr(0, size);
  rest->remove_prefix(size);
  return true;
}

std::string check_decodes(const WorkloadMessage& message) {
  Arena arena;
  auto* object = static_cast<Message*>(arena.allocate_zeroed(message.type.entry().object_size));
  if (object == nullptr) return "out of memory";
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  DecodeResult result = decode(message.type, object, message.wire, arena, {.alias = true});
  return result.ok() ? "" : to_string(result);
}

// Adds the records of one bench; names stand in its schema with or without the package.
std::string add_messages(std::string_view records, const Group& group, uint32_t index, Workload* out) {
  const schema::Image& image = group.image.image();
  while (!records.empty()) {
    std::string_view name, wire;
    if (!take_record(&records, &name) || !take_record(&records, &wire)) return "messages.bin is cut short";
    std::string full = "hyperprotobench." + std::string(name);
    int64_t found = image.find_message(full.data(), full.size());
    if (found < 0) return "messages.bin has a message " + std::string(name) + ", schema.fds has none of that name";
    WorkloadMessage message{
        group.name + "." + std::string(name), {&image, static_cast<uint32_t>(found)}, std::string(wire), index};
    if (std::string error = check_decodes(message); !error.empty()) return message.name + ": " + error;
    out->messages.push_back(std::move(message));
  }
  return "";
}

std::string add_bench(const std::filesystem::path& directory, Workload* out) {
  Group group;
  group.name = directory.filename().string();
  group.published = group.name != "bench2" && group.name != "bench5";
  std::string bytes, records;
  if (!read_file(directory / "schema.fds", &bytes)) return "schema.fds is missing, empty or unreadable";
  if (!group.files.ParseFromString(bytes)) return "schema.fds is no FileDescriptorSet";
  if (!read_file(directory / "messages.bin", &records)) return "messages.bin is missing, empty or unreadable";
  if (std::string error = load_group_image(&group); !error.empty()) return error;
  out->groups.push_back(std::move(group));
  return add_messages(records, out->groups.back(), static_cast<uint32_t>(out->groups.size() - 1), out);
}

}  // namespace

WorkloadResult load_hyperprotobench(const std::string& directory, WorkloadPart part) {
  WorkloadResult result;
  result.workload.name = "hyperprotobench";
  std::vector<std::string> names(std::begin(kPublished), std::end(kPublished));
  if (part == WorkloadPart::kAll) names.assign(std::begin(kAll), std::end(kAll));
  for (const std::string& name : names) {
    std::filesystem::path path = std::filesystem::path(directory) / name;
    std::string error = add_bench(path, &result.workload);
    if (error.empty()) continue;
    result.error = "HyperProtoBench: " + path.string() + ": " + error;
    return result;
  }
  return result;
}

}  // namespace drover::workload
