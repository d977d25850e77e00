// Reads descriptors. Syntax and edition arrive as features (features.h); this file does not look at the syntax.
#include "schema/descriptor_model.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "schema/features.h"
#include "schema/layout.h"

namespace drover::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

const char* const kDescriptorProto = "google/protobuf/descriptor.proto";

// All messages and enums of the image, sorted by full name, so that the image does not depend on the order of files.
struct Collected {
  std::map<std::string, const Descriptor*> messages;  // of an extension's entry: null
  std::map<std::string, const FieldDescriptor*> extensions;
  std::map<std::string, const EnumDescriptor*> enums;
  std::vector<const Descriptor*> to_visit;
  bool options_wanted = false;  // descriptor.proto is one of the files itself

  void add(const Descriptor* message) {
    if (messages.emplace(message->full_name(), message).second) to_visit.push_back(message);
  }
  void add(const EnumDescriptor* e) { enums.emplace(e->full_name(), e); }

  void add_reference(const FieldDescriptor* field) {
    if (field->message_type() != nullptr) add(field->message_type());
    if (field->enum_type() != nullptr) add(field->enum_type());
  }
  // Extensions of descriptor.proto's messages are options as a rule, and would bring all of that file along.
  void add_extension(const FieldDescriptor* field) {
    if (!options_wanted && field->containing_type()->file()->name() == kDescriptorProto) return;
    std::string name =
        extension_entry_name(field->containing_type()->full_name(), static_cast<uint32_t>(field->number()));
    extensions.emplace(name, field);
    messages.emplace(name, nullptr);
    add(field->containing_type());
    add_reference(field);
  }

  void add_file(const FileDescriptor* file) {
    for (int i = 0; i < file->message_type_count(); ++i) add_nested(file->message_type(i));
    for (int i = 0; i < file->enum_type_count(); ++i) add(file->enum_type(i));
    for (int i = 0; i < file->extension_count(); ++i) add_extension(file->extension(i));
  }
  void add_nested(const Descriptor* message) {
    add(message);
    for (int i = 0; i < message->nested_type_count(); ++i) add_nested(message->nested_type(i));
    for (int i = 0; i < message->enum_type_count(); ++i) add(message->enum_type(i));
    for (int i = 0; i < message->extension_count(); ++i) add_extension(message->extension(i));
  }
  void add_references() {
    while (!to_visit.empty()) {
      const Descriptor* message = to_visit.back();
      to_visit.pop_back();
      for (int i = 0; i < message->field_count(); ++i) add_reference(message->field(i));
    }
  }
};

template <typename T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

uint64_t default_bits(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return bits_of(field->default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return bits_of(field->default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return bits_of(field->default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return bits_of(field->default_value_uint64());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return bits_of(field->default_value_double());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return bits_of(field->default_value_float());
    case FieldDescriptor::CPPTYPE_BOOL:
      return bits_of(field->default_value_bool());
    case FieldDescriptor::CPPTYPE_ENUM:
      return bits_of(int32_t{field->default_value_enum()->number()});
    default:
      return 0;
  }
}

void set_default(const FieldDescriptor* field, FieldModel* out) {
  if (field->is_repeated() || out->is_message()) return;
  if (out->is_string()) {
    if (!field->has_default_value()) return;
    out->default_string = field->default_value_string();
    out->has_default = !out->default_string.empty();
  } else {
    out->default_scalar = default_bits(field);  // -0.0 counts as a default of its own
    out->has_default = out->default_scalar != 0;
  }
}

// As in protobuf C++, a proto2 field is closed, whether or not its enum is.
bool is_closed(const FieldDescriptor* field, const Features& features) {
  return features.legacy_closed_enum || features_of(field->enum_type()).enum_type == EnumType::kClosed;
}

bool has_presence(const FieldDescriptor* field, const Features& features) {
  bool always = field->message_type() != nullptr || field->containing_oneof() != nullptr || field->is_extension();
  return field->has_presence() && (always || features.field_presence != Presence::kImplicit);
}

FieldModel field_model(const FieldDescriptor* field, const Schema& schema) {
  Features features = features_of(field);
  bool map_entry = field->containing_type()->options().map_entry();
  FieldModel out;
  out.name = field->name();
  out.json_name = field->json_name();
  out.number = static_cast<uint32_t>(field->number());
  out.kind = static_cast<Kind>(field->type());
  out.label = static_cast<uint8_t>(field->is_map()        ? kLabelMap
                                   : field->is_repeated() ? kLabelRepeated
                                                          : kLabelSingular);
  out.packed = field->is_packed();
  out.utf8_checked = features.utf8_validation == Utf8Validation::kVerify && out.kind == Kind::kString;
  out.required = field->is_required();
  out.closed_enum = out.kind == Kind::kEnum && is_closed(field, features);
  // A map entry's key and value always count as present; only a message value can be missing (null).
  out.explicit_presence = has_presence(field, features) && (!map_entry || out.is_message());
  if (field->real_containing_oneof() != nullptr) out.oneof = field->real_containing_oneof()->index();
  if (field->message_type() != nullptr) {
    out.sub = static_cast<uint32_t>(schema.find_message(field->message_type()->full_name()));
  } else if (field->enum_type() != nullptr) {
    out.sub = static_cast<uint32_t>(schema.find_enum(field->enum_type()->full_name()));
  }
  set_default(field, &out);
  return out;
}

// An error in hostile descriptors that libprotobuf accepts nevertheless; empty if there is no such error.
std::string contradiction(const FieldDescriptor* descriptor, const FieldModel& field) {
  bool in_map_entry = descriptor->containing_type()->options().map_entry();
  bool of_map_entry = field.is_message() && descriptor->message_type()->options().map_entry();
  if (of_map_entry != (field.label == kLabelMap) || (of_map_entry && field.kind != Kind::kMessage)) {
    return "only a map field can be of a map entry";
  }
  if (in_map_entry && descriptor->is_extension()) return "a map entry cannot be extended";
  if (in_map_entry && field.label != kLabelSingular) return "a map's key and value cannot be repeated";
  if (in_map_entry && (field.required || field.oneof >= 0))
    return "a map's key and value are no required or oneof fields";
  bool implicit = field.label == kLabelSingular && !field.explicit_presence && !in_map_entry;
  if (implicit && field.closed_enum) return "a field with implicit presence needs an open enum";
  if (field.required && implicit) return "a field with implicit presence cannot be required";
  if (field.required && field.oneof >= 0) return "a member of a oneof cannot be required";
  return {};
}

std::string map_entry_contradiction(const MessageModel& entry) {
  const std::vector<FieldModel>& fields = entry.fields;
  bool two_fields = fields.size() == 2 && fields[0].number + fields[1].number == 3;
  if (!two_fields || entry.oneof_count != 0 || entry.extension_ranges) {
    return "a map entry has the fields 1 and 2, and neither oneofs nor extensions";
  }
  const FieldModel& key = fields[fields[0].number == 1 ? 0 : 1];
  const FieldModel& value = fields[fields[0].number == 1 ? 1 : 0];
  bool good_key = !key.is_message() && key.kind != Kind::kDouble && key.kind != Kind::kFloat &&
                  key.kind != Kind::kBytes && key.kind != Kind::kEnum;
  if (!good_key) return "a map's key is an integer, a bool or a string";
  return value.kind == Kind::kGroup ? "a map's value is no group" : "";
}

// Fills a message whose name and place in the schema are known.
std::string fill_message(const Descriptor* message, const Schema& schema, MessageModel* model) {
  model->map_entry = message->options().map_entry();
  model->message_set = message->options().message_set_wire_format();
  model->extension_ranges = message->extension_range_count() > 0;
  model->oneof_count = static_cast<uint32_t>(message->real_oneof_decl_count());
  for (int i = 0; i < message->field_count(); ++i) {
    model->fields.push_back(field_model(message->field(i), schema));
    std::string error = contradiction(message->field(i), model->fields.back());
    if (!error.empty()) return message->field(i)->full_name() + ": " + error;
  }
  if (model->map_entry) {
    std::string error = map_entry_contradiction(*model);
    if (!error.empty()) return model->full_name + ": " + error;
  }
  return lay_out(model);
}

EnumModel enum_model(const EnumDescriptor* e) {
  EnumModel out;
  out.full_name = e->full_name();
  out.closed = features_of(e).enum_type == EnumType::kClosed;
  for (int i = 0; i < e->value_count(); ++i) out.values.push_back({e->value(i)->name(), e->value(i)->number()});
  return out;
}

// Fills the message that stands for one extension.
std::string fill_extension(const FieldDescriptor* extension, const Schema& schema, MessageModel* model) {
  model->extension = true;
  model->fields.push_back(field_model(extension, schema));
  std::string error = contradiction(extension, model->fields[0]);
  if (!error.empty()) return extension->full_name() + ": " + error;
  model->fields[0].name = extension->full_name();
  model->fields[0].json_name = "[" + extension->full_name() + "]";
  return lay_out(model);
}

// Whether a required field can be reached from a message: it has one, or it takes extensions (which may have one), or a
// sub-message does. Propagated from sub-messages to all messages that contain them.
void set_required_below(Schema* schema) {
  std::vector<std::vector<size_t>> holders(schema->messages.size());
  std::vector<size_t> to_spread;
  for (size_t i = 0; i < schema->messages.size(); ++i) {
    MessageModel& message = schema->messages[i];
    message.required_below |= message.extension_ranges;
    for (const FieldModel& field : message.fields) {
      if (field.is_message()) holders[field.sub].push_back(i);
      message.required_below |= field.required;
    }
    if (message.required_below) to_spread.push_back(i);
  }
  while (!to_spread.empty()) {
    size_t below = to_spread.back();
    to_spread.pop_back();
    for (size_t holder : holders[below]) {
      if (schema->messages[holder].required_below) continue;
      schema->messages[holder].required_below = true;
      to_spread.push_back(holder);
    }
  }
}

template <typename T>
int64_t find_by_name(const std::vector<T>& sorted, const std::string& full_name) {
  auto at = std::lower_bound(sorted.begin(), sorted.end(), full_name,
                             [](const T& a, const std::string& b) { return a.full_name < b; });
  return at != sorted.end() && at->full_name == full_name ? at - sorted.begin() : -1;
}

}  // namespace

std::string extension_entry_name(const std::string& extendee, uint32_t number) {
  return "[" + extendee + ":" + std::to_string(number) + "]";
}

int64_t Schema::find_message(const std::string& full_name) const { return find_by_name(messages, full_name); }
int64_t Schema::find_enum(const std::string& full_name) const { return find_by_name(enums, full_name); }

std::string schema_from_files(FileSpan files, Schema* out) {
  Collected collected;
  collected.options_wanted = std::any_of(files.begin(), files.end(),
                                         [](const FileDescriptor* file) { return file->name() == kDescriptorProto; });
  for (const FileDescriptor* file : files) collected.add_file(file);
  collected.add_references();

  Schema schema;
  for (const auto& [name, e] : collected.enums) schema.enums.push_back(enum_model(e));
  for (const auto& [name, message] : collected.messages) schema.messages.emplace_back().full_name = name;
  size_t index = 0;
  for (const auto& [name, message] : collected.messages) {
    MessageModel* model = &schema.messages[index++];
    std::string error = message != nullptr ? fill_message(message, schema, model)
                                           : fill_extension(collected.extensions.at(name), schema, model);
    if (!error.empty()) return error;
  }
  set_required_below(&schema);
  *out = std::move(schema);
  return {};
}

}  // namespace drover::schema
