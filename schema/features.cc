// FeatureSet's fields: 1 field_presence, 2 enum_type, 3 repeated_field_encoding, 4 utf8_validation, 5 message_encoding,
// 6 json_format (nothing on the wire depends on it), 1000 pb.cpp, whose field 1 is legacy_closed_enum.
#include "schema/features.h"

#include <google/protobuf/descriptor.pb.h>

namespace drover::schema {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kPresence = 1, kEnumType = 2, kRepeated = 3, kUtf8 = 4, kMessage = 5, kCpp = 1000, kLegacyClosed = 1;

template <typename T>
std::string set_value(const UnknownField& field, const char* name, T least, T most, T* out) {
  if (field.type() != UnknownField::TYPE_VARINT || field.varint() < static_cast<uint64_t>(least) ||
      field.varint() > static_cast<uint64_t>(most)) {
    return std::string("features.") + name + " has a value that is not known";
  }
  *out = static_cast<T>(field.varint());
  return {};
}

std::string apply_cpp_features(const UnknownField& field, Features* features) {
  UnknownFieldSet cpp;
  if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED || !cpp.ParseFromString(field.length_delimited())) {
    return "features.(pb.cpp) is not a message";
  }
  for (int i = 0; i < cpp.field_count(); ++i) {
    if (cpp.field(i).number() != kLegacyClosed || cpp.field(i).type() != UnknownField::TYPE_VARINT) continue;
    features->legacy_closed_enum = cpp.field(i).varint() != 0;
  }
  return {};
}

std::string apply_feature(const UnknownField& field, Features* features) {
  switch (field.number()) {
    case kPresence:
      return set_value(field, "field_presence", Presence::kExplicit, Presence::kLegacyRequired,
                       &features->field_presence);
    case kEnumType:
      return set_value(field, "enum_type", EnumType::kOpen, EnumType::kClosed, &features->enum_type);
    case kRepeated:
      return set_value(field, "repeated_field_encoding", RepeatedEncoding::kPacked, RepeatedEncoding::kExpanded,
                       &features->repeated_field_encoding);
    case kUtf8:
      return set_value(field, "utf8_validation", Utf8Validation::kVerify, Utf8Validation::kNone,
                       &features->utf8_validation);
    case kMessage:
      return set_value(field, "message_encoding", MessageEncoding::kLengthPrefixed, MessageEncoding::kDelimited,
                       &features->message_encoding);
    case kCpp:
      return apply_cpp_features(field, features);
    default:
      return {};  // json_format, naming style, other languages'
  }
}

Features syntax_features(const FileDescriptor* file) {
  return file->syntax() == FileDescriptor::SYNTAX_PROTO3 ? kProto3Features : kProto2Features;
}

}  // namespace

const Features kProto2Features = {Presence::kExplicit,
                                  EnumType::kClosed,
                                  RepeatedEncoding::kExpanded,
                                  Utf8Validation::kNone,
                                  MessageEncoding::kLengthPrefixed,
                                  true};
const Features kProto3Features = {Presence::kImplicit,
                                  EnumType::kOpen,
                                  RepeatedEncoding::kPacked,
                                  Utf8Validation::kVerify,
                                  MessageEncoding::kLengthPrefixed,
                                  false};

std::optional<Features> edition_defaults(uint64_t edition) {
  if (edition != kEdition2023 && edition != kEdition2024) return std::nullopt;
  Features features = kProto3Features;
  features.field_presence = Presence::kExplicit;
  return features;
}

std::string apply_features(const UnknownFieldSet& options, int number, Features* features) {
  for (int i = 0; i < options.field_count(); ++i) {
    if (options.field(i).number() != number) continue;
    UnknownFieldSet set;
    if (options.field(i).type() != UnknownField::TYPE_LENGTH_DELIMITED ||
        !set.ParseFromString(options.field(i).length_delimited())) {
      return "features are not a FeatureSet";
    }
    for (int j = 0; j < set.field_count(); ++j) {
      std::string error = apply_feature(set.field(j), features);
      if (!error.empty()) return error;
    }
  }
  return {};
}

bool has_features(const UnknownFieldSet& options, int number) {
  for (int i = 0; i < options.field_count(); ++i) {
    if (options.field(i).number() == number) return true;
  }
  return false;
}

void store_features(const Features& features, int number, UnknownFieldSet* options) {
  UnknownFieldSet set;
  set.AddVarint(kPresence, static_cast<uint64_t>(features.field_presence));
  set.AddVarint(kEnumType, static_cast<uint64_t>(features.enum_type));
  set.AddVarint(kRepeated, static_cast<uint64_t>(features.repeated_field_encoding));
  set.AddVarint(kUtf8, static_cast<uint64_t>(features.utf8_validation));
  set.AddVarint(kMessage, static_cast<uint64_t>(features.message_encoding));
  set.AddLengthDelimited(kCpp)->assign({kLegacyClosed << 3, features.legacy_closed_enum});
  options->DeleteByNumber(number);
  set.SerializeToString(options->AddLengthDelimited(number));
}

// A complete FeatureSet replaces the syntax's. It is well-formed here: editions.h wrote it.
Features features_of(const google::protobuf::FieldDescriptor* field) {
  Features features = syntax_features(field->file());
  apply_features(field->options().unknown_fields(), kFieldFeatures, &features);
  return features;
}

Features features_of(const google::protobuf::EnumDescriptor* e) {
  Features features = syntax_features(e->file());
  apply_features(e->options().unknown_fields(), kEnumFeatures, &features);
  return features;
}

}  // namespace drover::schema
