// Counting what is in wire bytes, by the types that the schema gives them.
#include "workload/statistics.h"

#include <algorithm>

#include "workload/value_tree.h"
#include "workload/wire_reader.h"

namespace drover::workload {
namespace {

using schema::Kind;
constexpr uint32_t kDeepest = 200;

class Counter {
 public:
  Counter(std::string_view wire, Statistics* out) : wire_(wire), out_(out) {}

  bool count(const schema::MessageType& type, size_t begin, size_t end, uint32_t depth) {
    if (depth > kDeepest) return false;
    deepest_ = std::max(deepest_, depth);
    ++out_->objects;
    out_->fields_possible += type.entry().field_count;
    std::vector<uint32_t> seen;
    WireReader reader(wire_, begin, end);
    WireField field;
    while (reader.next(&field)) {
      const schema::FieldEntry* entry = type.find_field(field.number);
      if (entry == nullptr) {
        ++out_->unknown_fields;
        out_->unknown_bytes += field.end - field.begin;
        continue;
      }
      if (std::find(seen.begin(), seen.end(), field.number) == seen.end()) seen.push_back(field.number);
      if (!count_field(type, *entry, field, depth)) return false;
    }
    out_->fields_present += seen.size();
    return reader.ok();
  }
  uint32_t deepest() const { return deepest_; }

 private:
  bool count_field(const schema::MessageType& type, const schema::FieldEntry& entry, const WireField& field,
                   uint32_t depth) {
    if (schema::is_message_kind(entry.kind)) {
      ++out_->values[entry.kind];
      return count(type.sub(entry), field.payload, field.payload_end, depth + 1);
    }
    if (schema::is_string_kind(entry.kind)) {
      size_t size = field.end - field.payload;
      (entry.kind == static_cast<uint8_t>(Kind::kString) ? out_->string_sizes : out_->bytes_sizes).push_back(size);
      ++out_->values[entry.kind];
      out_->value_bytes[entry.kind] += size;
      return true;
    }
    if (field.wire_type != 2 || entry.wire_type == 2) return count_scalar(entry.kind, field.varint);
    WireReader packed(wire_, field.payload, field.end);
    size_t fixed = entry.wire_type == 1 ? 8 : 4;
    while (!packed.at_end()) {
      uint64_t value = 0;
      if (entry.wire_type == 0 ? !packed.varint(&value) : !packed.skip(fixed)) return false;
      count_scalar(entry.kind, value);
    }
    return true;
  }

  bool count_scalar(uint8_t kind, uint64_t bits) {
    ++out_->values[kind];
    size_t size = schema::kWireTypeOfKind[kind] == 1 ? 8 : schema::kWireTypeOfKind[kind] == 5 ? 4 : varint_size(bits);
    out_->value_bytes[kind] += size;
    if (schema::kWireTypeOfKind[kind] == 0 && kind != static_cast<uint8_t>(Kind::kBool)) ++out_->varints[size];
    return true;
  }

  std::string_view wire_;
  Statistics* out_;
  uint32_t deepest_ = 0;
};

// The deepest chain of types below this one, and the types themselves. Recursion ends at the type that is repeated.
uint32_t count_types(const schema::MessageType& type, std::vector<uint32_t>* path, Statistics* out) {
  bool first = out->counted_types.insert({type.image, type.index}).second;
  if (first) {
    ++out->types;
    out->type_fields.push_back(type.entry().field_count);
  }
  uint32_t below = 0;
  path->push_back(type.index);
  for (const schema::FieldEntry& field : type.fields()) {
    if (first) {
      ++out->fields[field.kind];
      out->repeated_fields += field.label != schema::kLabelSingular;
      out->field_numbers.push_back(field.number);
    }
    if (!first || !schema::is_message_kind(field.kind)) continue;
    if (path->size() >= kDeepest || std::find(path->begin(), path->end(), field.sub) != path->end()) continue;
    below = std::max(below, count_types(type.sub(field), path, out));
  }
  path->pop_back();
  return below + 1;
}

}  // namespace

bool add_message(const schema::MessageType& type, std::string_view wire, Statistics* out) {
  out->sizes.push_back(wire.size());
  std::vector<uint32_t> path;
  out->schema_depth = std::max(out->schema_depth, count_types(type, &path, out));
  Counter counter(wire, out);
  bool ok = counter.count(type, 0, wire.size(), 1);
  out->depths.push_back(counter.deepest());
  return ok;
}

Statistics group_statistics(const Workload& workload, uint32_t group) {
  Statistics statistics;
  for (const WorkloadMessage& message : workload.messages) {
    if (message.group == group) add_message(message.type, message.wire, &statistics);
  }
  return statistics;
}

Statistics total_statistics(const Workload& workload, WorkloadPart part) {
  Statistics statistics;
  for (const WorkloadMessage& message : workload.messages) {
    if (part == WorkloadPart::kPublished && !workload.groups[message.group].published) continue;
    add_message(message.type, message.wire, &statistics);
  }
  return statistics;
}

uint64_t percentile(std::vector<uint64_t> values, unsigned percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * percent / 100];
}

const char* kind_name(uint8_t kind) {
  static const char* const kNames[schema::kKindCount] = {
      "",      "double",  "float", "int64",  "uint64", "int32",    "fixed64",  "fixed32", "bool",  "string",
      "group", "message", "bytes", "uint32", "enum",   "sfixed32", "sfixed64", "sint32",  "sint64"};
  return kind < schema::kKindCount ? kNames[kind] : "unknown kind";
}

}  // namespace drover::workload
