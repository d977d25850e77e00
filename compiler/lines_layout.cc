#include "compiler/lines_layout.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <optional>
#include <set>

namespace drover::compiler {
namespace {

constexpr int kLinesOption = 51701, kLineFormOption = 51701, kMaxBytesOption = 51701;
enum class LineForm : uint64_t { kBySize = 0, kFixed = 1, kCodec = 2 };

// An option of one varint, the last if there are several; absent: nothing.
std::optional<uint64_t> varint(const google::protobuf::UnknownFieldSet& fields, int number) {
  std::optional<uint64_t> value;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_VARINT) value = field.varint();
  }
  return value;
}

uint64_t form_of(const Descriptor* message) {
  return varint(message->options().unknown_fields(), kLineFormOption).value_or(0);
}
std::optional<uint64_t> max_bytes_of(const FieldDescriptor* field) {
  return varint(field->options().unknown_fields(), kMaxBytesOption);
}

uint32_t round_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

}  // namespace

uint64_t layout_hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

bool has_lines(const FileDescriptor* file, const Options& options) {
  if (options.lines) return true;
  for (int i = 0; i < file->dependency_count(); ++i) {
    if (file->dependency(i)->name() == kOptionsFile) return true;
  }
  return false;
}

bool is_lines_service(const google::protobuf::ServiceDescriptor* service, const Options& options) {
  return varint(service->options().unknown_fields(), kLinesOption).value_or(options.lines ? 1 : 0) != 0;
}

const schema::FieldModel* FixedLayouts::model_of(const FieldDescriptor* field) const {
  int64_t index = schema_.find_message(field->containing_type()->full_name());
  if (index < 0) return nullptr;
  for (const schema::FieldModel& model : schema_.messages[static_cast<size_t>(index)].fields) {
    if (model.number == static_cast<uint32_t>(field->number())) return &model;
  }
  return nullptr;
}

std::string FixedLayouts::lay_out_field(const FieldDescriptor* field, FixedField* out) {
  const schema::FieldModel* model = model_of(field);
  const std::string name = field->full_name() + " ";
  if (model == nullptr) return name + "is not in the schema";
  if (field->is_repeated()) return name + "is repeated";
  if (field->real_containing_oneof() != nullptr) return name + "is in a oneof";
  if (model->required) return name + "is required";
  out->field = field;
  out->utf8 = model->utf8_checked;
  out->max_bytes = 0;
  if (model->is_string()) {
    std::optional<uint64_t> most = max_bytes_of(field);
    if (!most) return name + "has no max_bytes";
    if (*most > kMostFixedBytes) return name + "has a max_bytes that no message holds";
    out->max_bytes = static_cast<uint32_t>(*most);
    out->align = *most <= 255 ? 1 : 2;
    out->size = round_up(out->align + out->max_bytes, out->align);
    return {};
  }
  if (model->kind == schema::Kind::kGroup) return name + "is a group";
  if (model->is_message()) {
    const FixedLayout* inner = find(field->message_type());
    if (inner == nullptr) return name + "has a type of no fixed shape";
    out->align = inner->align;
    out->size = inner->size;
    return {};
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      out->align = out->size = 8;
      return {};
    case FieldDescriptor::CPPTYPE_BOOL:
      out->align = out->size = 1;
      return {};
    default:
      out->align = out->size = 4;
      return {};
  }
}

std::string FixedLayouts::field_text(const FixedField& field) {
  std::string type;
  if (field.max_bytes != 0) {
    type = std::string(field.utf8 ? "utf8[" : "bytes[") + std::to_string(field.max_bytes) + "]";
  } else if (field.field->message_type() != nullptr) {
    type = find(field.field->message_type())->text;
  } else if (field.field->enum_type() != nullptr) {
    std::set<int> numbers;
    for (int i = 0; i < field.field->enum_type()->value_count(); ++i) {
      numbers.insert(field.field->enum_type()->value(i)->number());
    }
    type = "enum(";
    for (int number : numbers) type += std::to_string(number) + " ";
    type.back() = ')';
  } else {
    type = field.field->cpp_type_name();
  }
  return std::to_string(field.field->number()) + ":" + type + "@" + std::to_string(field.offset) +
         (field.presence >= 0 ? "?" + std::to_string(field.presence) : "") + " ";
}

std::string FixedLayouts::lay_out(const Descriptor* message, FixedLayout* out) {
  const std::string name = message->full_name() + " ";
  if (!has_lines(message->file(), options_)) return name + "is in a file that does not import " + kOptionsFile;
  if (message->options().map_entry()) return name + "is a map's entry";
  if (message->extension_range_count() != 0) return name + "has extension ranges";
  for (int i = 0; i < message->field_count(); ++i) {
    FixedField field{};
    std::string error = lay_out_field(message->field(i), &field);
    if (!error.empty()) return error;
    out->fields.push_back(field);
  }
  std::sort(out->fields.begin(), out->fields.end(),
            [](const FixedField& a, const FixedField& b) { return a.field->number() < b.field->number(); });
  int bits = 0;
  for (FixedField& field : out->fields) {
    field.presence = model_of(field.field)->explicit_presence || field.field->message_type() != nullptr ? bits++ : -1;
  }
  std::stable_sort(out->fields.begin(), out->fields.end(),
                   [](const FixedField& a, const FixedField& b) { return a.align > b.align; });
  uint64_t end = 0;
  for (FixedField& field : out->fields) {
    field.offset = static_cast<uint32_t>(end);
    end += field.size;
    if (end > kMostFixedBytes) break;
    out->align = std::max(out->align, field.align);
  }
  out->presence_at = static_cast<uint32_t>(end);
  out->presence_bytes = static_cast<uint32_t>(bits + 7) / 8;
  out->padding_at = out->presence_at + out->presence_bytes;
  out->size = std::max(round_up(out->padding_at, out->align), 1u);
  const uint32_t most = form_of(message) == static_cast<uint64_t>(LineForm::kFixed) ? kMostFixedBytes : kFixedBySize;
  if (out->size > most) return name + "has more than " + std::to_string(most) + " bytes";
  out->text = "{";
  for (const FixedField& field : out->fields) out->text += field_text(field);
  out->text += "size " + std::to_string(out->size) + "}";
  return {};
}

const FixedLayout* FixedLayouts::find(const Descriptor* message) {
  auto [known, fresh] = found_.try_emplace(message, nullptr);
  if (!fresh) return known->second.get();  // null also inside itself: no fixed shape
  if (form_of(message) == static_cast<uint64_t>(LineForm::kCodec)) return nullptr;
  auto layout = std::make_unique<FixedLayout>();
  if (!lay_out(message, layout.get()).empty()) return nullptr;
  found_[message] = std::move(layout);
  return found_[message].get();
}

std::string FixedLayouts::text_of(const Descriptor* message) {
  const FixedLayout* layout = find(message);
  return layout != nullptr ? layout->text : "codec:" + message->full_name();
}

std::string FixedLayouts::check(const Descriptor* message) {
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    std::optional<uint64_t> most = max_bytes_of(field);
    if (!most) continue;
    bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field->is_repeated();
    if (!text) return field->full_name() + ": max_bytes is for a single string or bytes";
    if (*most == 0 || *most > kMostFixedBytes) {
      return field->full_name() + ": max_bytes is 1 to " + std::to_string(kMostFixedBytes);
    }
  }
  if (form_of(message) != static_cast<uint64_t>(LineForm::kFixed) || find(message) != nullptr) return {};
  FixedLayout unused;
  std::string why = lay_out(message, &unused);
  return message->full_name() + ": LINE_FORM_FIXED, but " + why;
}

}  // namespace drover::compiler
