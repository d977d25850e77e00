#include "sim/platform/target_fields.h"

#include <cstring>
#include <map>
#include <string_view>

#include "codec/decode/decode.h"
#include "sim/platform/units.h"

namespace drover::sim {
namespace {

struct Values {
  uint64_t count = 0, bytes = 0;
};

// The string and bytes values of a workload, by field.
std::string count_values(const workload::Workload& workload, std::map<const schema::FieldEntry*, Values>* out) {
  for (const workload::WorkloadMessage& message : workload.messages) {
    Arena arena;
    reflection::Object object = reflection::create(message.type, &arena);
    DecodeResult decoded = decode(message.type, object.message(), message.wire, arena);
    if (!decoded.ok()) return message.name + " does not decode: " + to_string(decoded);
    for_each_string(message.type, object.message(), [&](const schema::FieldEntry& field, const String& value) {
      Values& values = (*out)[&field];
      ++values.count;
      values.bytes += value.size();
    });
  }
  return "";
}

// "package.Message.field" in one of the workload's images.
std::string add_named(const workload::Workload& workload, const std::string& name, TargetFields* out) {
  size_t dot = name.rfind('.');
  std::string message = name.substr(0, dot == std::string::npos ? 0 : dot);
  std::string last = name.substr(dot == std::string::npos ? 0 : dot + 1);
  bool found = false;  // HyperProtoBench's schemas share names: all fields of this name
  for (const workload::Group& group : workload.groups) {
    const schema::Image& image = group.image.image();
    int64_t index = image.find_message(message.data(), message.size());
    if (index < 0) continue;
    const schema::MessageEntry& entry = image.message(static_cast<uint32_t>(index));
    const schema::FieldEntry* field = image.find_field_by_name(entry, last.data(), last.size());
    if (field == nullptr) continue;
    if (!schema::is_string_kind(field->kind) || (entry.flags & schema::kMessageFlagMapEntry) != 0) {
      return name + " is no string or bytes field";
    }
    out->add(*field);
    found = true;
  }
  return found ? "" : "the workload has no field " + name;
}

}  // namespace

std::vector<uint64_t> TargetFields::flagged(const schema::Image& image) const {
  std::vector<uint64_t> words((image.size() + 7) / 8);
  std::memcpy(words.data(), image.data(), image.size());
  schema::Image copy = schema::Image::from_trusted(words.data());
  for (uint32_t m = 0; m < image.message_count(); ++m) {
    schema::FieldRange fields = image.fields(image.message(m)), copies = copy.fields(copy.message(m));
    for (uint32_t i = 0; i < fields.size(); ++i) {
      if (hold(fields[i])) const_cast<schema::FieldEntry&>(copies[i]).flags |= schema::kFieldFlagTarget;
    }
  }
  return words;
}

TargetFieldsResult target_fields(const std::string& rule, const workload::Workload& workload) {
  TargetFieldsResult result;
  if (rule == "none") return result;
  if (rule.starts_with(">=")) {
    uint64_t least = 0;
    if (!parse_size(rule.substr(2), &least)) {
      result.error = "run.target: " + rule + " is no size";
      return result;
    }
    std::map<const schema::FieldEntry*, Values> values;
    result.error = count_values(workload, &values);
    for (const auto& [field, value] : values) {
      if (value.bytes >= least * value.count) result.fields.add(*field);
    }
    return result;
  }
  for (size_t at = 0; at <= rule.size() && result.error.empty();) {
    size_t comma = std::min(rule.find(',', at), rule.size());
    result.error = add_named(workload, rule.substr(at, comma - at), &result.fields);
    at = comma + 1;
  }
  if (!result.error.empty()) result.error = "run.target: " + result.error;
  return result;
}

}  // namespace drover::sim
