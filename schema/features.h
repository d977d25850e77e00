// Feature sets of protobuf's editions: what a field or an enum says about presence, closed enums, packing, UTF-8
// checks and delimited messages (protobuf.dev/editions/features).
//
// libprotobuf 3.21's descriptor.proto knows no editions; FeatureSets lie among the unknown fields of options. An
// editions file passes through editions.h before it is linked, which leaves a complete FeatureSet on every field and
// enum; files of proto2 and proto3 have no FeatureSet, and their syntax decides. Thread-safety: all const.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstdint>
#include <optional>
#include <string>

namespace drover::schema {

// The values are FeatureSet's own.
enum class Presence : uint8_t { kExplicit = 1, kImplicit = 2, kLegacyRequired = 3 };
enum class EnumType : uint8_t { kOpen = 1, kClosed = 2 };
enum class RepeatedEncoding : uint8_t { kPacked = 1, kExpanded = 2 };
enum class Utf8Validation : uint8_t { kVerify = 2, kNone = 3 };
enum class MessageEncoding : uint8_t { kLengthPrefixed = 1, kDelimited = 2 };

struct Features {
  Presence field_presence;
  EnumType enum_type;
  RepeatedEncoding repeated_field_encoding;
  Utf8Validation utf8_validation;
  MessageEncoding message_encoding;
  bool legacy_closed_enum;  // pb.cpp's: an enum field is closed even where its enum is open

  bool operator==(const Features&) const = default;
};

// google.protobuf.Edition
inline constexpr int kEdition2023 = 1000;
inline constexpr int kEdition2024 = 1001;

// The numbers of the `features` fields in the options messages.
inline constexpr int kFileFeatures = 50, kMessageFeatures = 12, kFieldFeatures = 21, kOneofFeatures = 1,
                     kEnumFeatures = 7, kEnumValueFeatures = 2, kExtensionRangeFeatures = 50, kServiceFeatures = 34,
                     kMethodFeatures = 35;

extern const Features kProto2Features;
extern const Features kProto3Features;
// An edition's defaults; empty for an edition that Drover does not support.
std::optional<Features> edition_defaults(uint64_t edition);

// Lets the FeatureSet in field `number` of an options message's unknown fields, if there is one, change *features.
// Returns an empty string, or what is wrong with it.
std::string apply_features(const google::protobuf::UnknownFieldSet& options, int number, Features* features);
bool has_features(const google::protobuf::UnknownFieldSet& options, int number);
// Replaces the FeatureSet by a complete one.
void store_features(const Features& features, int number, google::protobuf::UnknownFieldSet* options);

// Of a linked descriptor, whether it came through editions.h or not.
Features features_of(const google::protobuf::FieldDescriptor* field);
Features features_of(const google::protobuf::EnumDescriptor* e);

}  // namespace drover::schema
