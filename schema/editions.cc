// Walks a FileDescriptorProto from the file inwards, with the features in effect at each level.
#include "schema/editions.h"

#include <google/protobuf/descriptor.h>

#include <set>
#include <vector>

#include "schema/features.h"

namespace drover::schema {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kFileEdition = 14;  // FileDescriptorProto.edition

// 0 if the file has no edition.
uint64_t edition_of(const FileDescriptorProto& file) {
  const UnknownFieldSet& unknown = file.unknown_fields();
  uint64_t edition = 0;
  for (int i = 0; i < unknown.field_count(); ++i) {
    bool is_edition = unknown.field(i).number() == kFileEdition && unknown.field(i).type() == UnknownField::TYPE_VARINT;
    if (is_edition) edition = unknown.field(i).varint();
  }
  return edition;
}

bool is_packable(const FieldDescriptorProto& field) {
  return field.label() == FieldDescriptorProto::LABEL_REPEATED && field.type() != FieldDescriptorProto::TYPE_STRING &&
         field.type() != FieldDescriptorProto::TYPE_BYTES && field.type() != FieldDescriptorProto::TYPE_MESSAGE &&
         field.type() != FieldDescriptorProto::TYPE_GROUP;
}

// The context of a field, as far as its features depend on it.
struct Place {
  bool extension = false;
  bool map_entry = false;               // a map's key or value
  const std::set<std::string>* maps{};  // full names, with a leading dot, of the message's own map entries
};

bool chooses_presence(const FieldDescriptorProto& field, const Place& place) {
  return field.label() != FieldDescriptorProto::LABEL_REPEATED && !field.has_oneof_index() && !place.extension &&
         !place.map_entry;
}

class Rewriter {
 public:
  explicit Rewriter(bool proto3) : proto3_(proto3) {}

  std::string rewrite(FileDescriptorProto* file, Features features);

 private:
  bool message(DescriptorProto* message, const std::string& scope, Features features);
  bool field(FieldDescriptorProto* field, Features features, const Place& place);
  bool edition_field(FieldDescriptorProto* field, const Features& features, const Place& place);
  bool enumeration(EnumDescriptorProto* e, Features features);
  void remove_synthetic_oneofs(DescriptorProto* message);

  template <typename Proto>
  bool apply(const Proto& proto, int number, Features* features) {
    return fail_unless(proto.name(), apply_features(proto.options().unknown_fields(), number, features));
  }
  bool fail_unless(const std::string& name, const std::string& error) {
    if (!error.empty()) error_ = name + ": " + error;
    return error.empty();
  }

  bool proto3_;
  std::string error_;
};

// The parts of a file or message. False: an error was recorded.
template <typename Range, typename Visit>
bool visit_all(Range* range, Visit visit) {
  for (auto& element : *range) {
    if (!visit(&element)) return false;
  }
  return true;
}

std::string Rewriter::rewrite(FileDescriptorProto* file, Features features) {
  if (!apply(*file, kFileFeatures, &features)) return error_;
  if (features.field_presence == Presence::kLegacyRequired) return "a file cannot make all its fields required";
  std::string scope = file->package().empty() ? "" : "." + file->package();
  bool good = visit_all(file->mutable_enum_type(), [&](EnumDescriptorProto* e) { return enumeration(e, features); }) &&
              visit_all(file->mutable_extension(),
                        [&](FieldDescriptorProto* f) { return field(f, features, {.extension = true}); }) &&
              visit_all(file->mutable_message_type(), [&](DescriptorProto* m) { return message(m, scope, features); });
  if (!good) return error_;
  file->set_syntax("proto2");
  file->mutable_unknown_fields()->DeleteByNumber(kFileEdition);
  return {};
}

bool Rewriter::message(DescriptorProto* message, const std::string& scope, Features features) {
  if (!apply(*message, kMessageFeatures, &features)) return false;
  std::string full_name = scope + "." + message->name();
  std::set<std::string> maps;
  for (const DescriptorProto& nested : message->nested_type()) {
    if (nested.options().map_entry()) maps.insert(full_name + "." + nested.name());
  }
  std::vector<Features> oneofs(static_cast<size_t>(message->oneof_decl_size()), features);
  for (int i = 0; i < message->oneof_decl_size(); ++i) {
    if (!apply(message->oneof_decl(i), kOneofFeatures, &oneofs[static_cast<size_t>(i)])) return false;
  }
  Place place{.map_entry = message->options().map_entry(), .maps = &maps};
  auto visit_field = [&](FieldDescriptorProto* f) {
    bool member = f->has_oneof_index() && f->oneof_index() >= 0 && f->oneof_index() < message->oneof_decl_size();
    return field(f, member ? oneofs[static_cast<size_t>(f->oneof_index())] : features, place);
  };
  bool good =
      visit_all(message->mutable_field(), visit_field) &&
      visit_all(message->mutable_extension(),
                [&](FieldDescriptorProto* f) { return field(f, features, {.extension = true}); }) &&
      visit_all(message->mutable_enum_type(), [&](EnumDescriptorProto* e) { return enumeration(e, features); }) &&
      visit_all(message->mutable_nested_type(),
                [&](DescriptorProto* m) { return this->message(m, full_name, features); });
  if (good && proto3_) remove_synthetic_oneofs(message);
  return good;
}

bool Rewriter::field(FieldDescriptorProto* field, Features features, const Place& place) {
  if (!apply(*field, kFieldFeatures, &features)) return false;
  if (proto3_) {
    if (field->proto3_optional()) features.field_presence = Presence::kExplicit;
    if (field->options().has_packed()) {
      features.repeated_field_encoding =
          field->options().packed() ? RepeatedEncoding::kPacked : RepeatedEncoding::kExpanded;
    }
  } else if (!edition_field(field, features, place)) {
    return false;
  }
  if (chooses_presence(*field, place) && features.field_presence == Presence::kImplicit && field->has_default_value()) {
    return fail_unless(field->name(), "a field with implicit presence cannot have a default");
  }
  if (is_packable(*field)) {
    field->mutable_options()->set_packed(features.repeated_field_encoding == RepeatedEncoding::kPacked);
  }
  store_features(features, kFieldFeatures, field->mutable_options()->mutable_unknown_fields());
  return true;
}

bool Rewriter::edition_field(FieldDescriptorProto* field, const Features& features, const Place& place) {
  const char* wrong = !field->has_type()                                       ? "it has no type"
                      : field->type() == FieldDescriptorProto::TYPE_GROUP      ? "editions have no groups"
                      : field->label() == FieldDescriptorProto::LABEL_REQUIRED ? "editions have no required label"
                      : field->proto3_optional()                               ? "editions have no proto3_optional"
                                                                               : "";
  if (*wrong != '\0') return fail_unless(field->name(), wrong);
  bool is_message = field->type() == FieldDescriptorProto::TYPE_MESSAGE;
  if (chooses_presence(*field, place) && features.field_presence == Presence::kLegacyRequired) {
    field->set_label(FieldDescriptorProto::LABEL_REQUIRED);
  }
  bool in_map = place.map_entry || (place.maps != nullptr && place.maps->count(field->type_name()) != 0);
  if (is_message && features.message_encoding == MessageEncoding::kDelimited && !in_map) {
    field->set_type(FieldDescriptorProto::TYPE_GROUP);
  }
  return true;
}

bool Rewriter::enumeration(EnumDescriptorProto* e, Features features) {
  if (!apply(*e, kEnumFeatures, &features)) return false;
  bool zero_first = e->value_size() > 0 && e->value(0).number() == 0;
  if (features.enum_type == EnumType::kOpen && !zero_first) {
    return fail_unless(e->name(), "the first value of an open enum must be zero");
  }
  store_features(features, kEnumFeatures, e->mutable_options()->mutable_unknown_fields());
  return true;
}

// proto3's `optional` is a oneof of its own in descriptors, behind the real ones; proto2 has no such thing.
void Rewriter::remove_synthetic_oneofs(DescriptorProto* message) {
  int real = message->oneof_decl_size();
  for (FieldDescriptorProto& field : *message->mutable_field()) {
    if (!field.proto3_optional() || !field.has_oneof_index()) continue;
    if (field.oneof_index() >= 0 && field.oneof_index() < real) real = field.oneof_index();
    field.clear_oneof_index();
    field.clear_proto3_optional();
  }
  message->mutable_oneof_decl()->DeleteSubrange(real, message->oneof_decl_size() - real);
}

// ---- features where none may be
bool any_features(const EnumDescriptorProto& e) { return has_features(e.options().unknown_fields(), kEnumFeatures); }

bool any_features(const FieldDescriptorProto& field) {
  return has_features(field.options().unknown_fields(), kFieldFeatures);
}

template <typename Scope>  // a file or a message
bool any_features_inside(const Scope& scope) {
  for (const EnumDescriptorProto& e : scope.enum_type()) {
    if (any_features(e)) return true;
  }
  for (const FieldDescriptorProto& extension : scope.extension()) {
    if (any_features(extension)) return true;
  }
  return false;
}

bool any_features(const DescriptorProto& message) {
  if (any_features_inside(message)) return true;
  for (const FieldDescriptorProto& field : message.field()) {
    if (any_features(field)) return true;
  }
  for (const DescriptorProto& nested : message.nested_type()) {
    if (any_features(nested)) return true;
  }
  return false;
}

}  // namespace

bool is_editions_file(const FileDescriptorProto& file) { return file.syntax() == "editions"; }

std::string rewrite_as_proto2(FileDescriptorProto* file) {
  bool proto3 = !is_editions_file(*file);
  std::optional<Features> features = proto3 ? kProto3Features : edition_defaults(edition_of(*file));
  if (!features) {
    return file->name() + ": edition " + std::to_string(edition_of(*file)) + " is not known; Drover knows " +
           std::to_string(kEdition2023) + " (2023) and " + std::to_string(kEdition2024) + " (2024)";
  }
  std::string error = Rewriter(proto3).rewrite(file, *features);
  return error.empty() ? error : file->name() + ": " + error;
}

std::string check_no_features(const FileDescriptorProto& file) {
  bool found = any_features_inside(file);
  for (const DescriptorProto& message : file.message_type()) found = found || any_features(message);
  return found ? file.name() + ": features in a file that has no edition" : "";
}

}  // namespace drover::schema
