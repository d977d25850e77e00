// For tests: an editions file from text. Debian's parser does not support editions, so the text is proto3 (labels may
// be omitted) with `option features.x = Y`; the features then move to where protoc puts them.
#pragma once

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "schema/features.h"
#include "schema/proto_text.h"

namespace drover::schema {

// "field_presence" and the like, with the number of the field in FeatureSet and those of its values.
inline const std::map<std::string, std::pair<int, std::map<std::string, int>>>& feature_names() {
  static const std::map<std::string, std::pair<int, std::map<std::string, int>>> names = {
      {"field_presence", {1, {{"EXPLICIT", 1}, {"IMPLICIT", 2}, {"LEGACY_REQUIRED", 3}, {"BAD", 9}}}},
      {"enum_type", {2, {{"OPEN", 1}, {"CLOSED", 2}, {"BAD", 0}}}},
      {"repeated_field_encoding", {3, {{"PACKED", 1}, {"EXPANDED", 2}}}},
      {"utf8_validation", {4, {{"VERIFY", 2}, {"NONE", 3}, {"BAD", 1}}}},
      {"message_encoding", {5, {{"LENGTH_PREFIXED", 1}, {"DELIMITED", 2}}}},
  };
  return names;
}

// Moves the `features.x` among an options message's uninterpreted options into its field `number`.
template <typename Options>
void interpret_features(Options* options, int number) {
  google::protobuf::UnknownFieldSet set;
  for (const auto& option : options->uninterpreted_option()) {
    ASSERT_EQ(option.name_size(), 2);
    if (option.name(1).name_part() == "legacy_closed_enum") {  // pb.cpp's
      set.AddLengthDelimited(1000, option.identifier_value() == "true" ? "\x08\x01" : std::string("\x08\0", 2));
      continue;
    }
    const auto& [field, values] = feature_names().at(option.name(1).name_part());
    set.AddVarint(field, static_cast<uint64_t>(values.at(option.identifier_value())));
  }
  if (options->uninterpreted_option_size() == 0) return;
  options->clear_uninterpreted_option();
  set.SerializeToString(options->mutable_unknown_fields()->AddLengthDelimited(number));
}

inline void interpret_features(google::protobuf::EnumDescriptorProto* e) {
  interpret_features(e->mutable_options(), kEnumFeatures);
}

inline void interpret_features(google::protobuf::DescriptorProto* message) {
  interpret_features(message->mutable_options(), kMessageFeatures);
  for (auto& field : *message->mutable_field()) interpret_features(field.mutable_options(), kFieldFeatures);
  for (auto& field : *message->mutable_extension()) interpret_features(field.mutable_options(), kFieldFeatures);
  for (auto& oneof : *message->mutable_oneof_decl()) interpret_features(oneof.mutable_options(), kOneofFeatures);
  for (auto& e : *message->mutable_enum_type()) interpret_features(&e);
  for (auto& nested : *message->mutable_nested_type()) interpret_features(&nested);
}

// protoc gives every field its type; the parser leaves it out where it is a name. Messages of a test begin with M.
inline void set_types(google::protobuf::DescriptorProto* message) {
  for (auto& field : *message->mutable_field()) {
    if (field.has_type()) continue;
    std::string name = field.type_name().substr(field.type_name().rfind('.') + 1);
    field.set_type(name[0] == 'M' ? google::protobuf::FieldDescriptorProto::TYPE_MESSAGE
                                  : google::protobuf::FieldDescriptorProto::TYPE_ENUM);
    for (const auto& nested : message->nested_type()) {
      if (field.type_name() != nested.name() || !nested.options().map_entry()) continue;
      field.set_type(google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
      field.set_type_name("." + message->name() + "." + name);
    }
  }
  for (auto& nested : *message->mutable_nested_type()) set_types(&nested);
}

inline google::protobuf::FileDescriptorProto editions_file(const char* name, const char* text,
                                                           uint64_t edition = kEdition2023) {
  std::string source = std::string("syntax = 'proto3';") + text;
  google::protobuf::FileDescriptorProto file = parse_protos({{name, source.c_str()}}).file(0);
  interpret_features(file.mutable_options(), kFileFeatures);
  for (auto& message : *file.mutable_message_type()) interpret_features(&message);
  for (auto& message : *file.mutable_message_type()) set_types(&message);
  for (auto& e : *file.mutable_enum_type()) interpret_features(&e);
  for (auto& field : *file.mutable_extension()) interpret_features(field.mutable_options(), kFieldFeatures);
  file.set_syntax("editions");
  file.mutable_unknown_fields()->AddVarint(14, edition);
  return file;
}

// Joins files that parse_protos and editions_file made.
inline google::protobuf::FileDescriptorSet set_of(std::initializer_list<google::protobuf::FileDescriptorProto> files) {
  google::protobuf::FileDescriptorSet set;
  for (const auto& file : files) *set.add_file() = file;
  return set;
}

inline OwnedImage image_of(const google::protobuf::FileDescriptorSet& set) {
  BuildResult built = build_image(set);
  EXPECT_EQ(built.error, "");
  OwnedImage image;
  LoadResult result = OwnedImage::load(built.image, &image);
  EXPECT_TRUE(result.ok()) << load_message(result);
  return image;
}

}  // namespace drover::schema
