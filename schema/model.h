// The schema model: messages and enums as Drover sees them, before they become an image or C++ classes.
//
// A front end fills it (descriptor_model.h does, from protobuf descriptors), `lay_out` (layout.h) gives every field
// its place, `build_image` (image_builder.h) turns it into bytes. Plain data; fields stay in declaration order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/image.h"

namespace drover::schema {

struct FieldModel {
  std::string name;
  std::string json_name;
  uint32_t number = 0;
  Kind kind = Kind::kInt32;
  uint8_t label = kLabelSingular;
  bool packed = false;
  bool utf8_checked = false;
  bool required = false;
  bool closed_enum = false;
  bool explicit_presence = false;
  int oneof = -1;            // index of the real oneof it is a member of
  uint32_t sub = kNoSub;     // index into Schema::messages or ::enums
  bool has_default = false;  // a default other than the type's zero
  uint64_t default_scalar = 0;
  std::string default_string;

  // set by lay_out
  uint32_t offset = 0;
  uint16_t has_bit = kNoHasBit;
  uint16_t case_offset = 0;

  bool is_message() const { return kind == Kind::kMessage || kind == Kind::kGroup; }
  bool is_string() const { return kind == Kind::kString || kind == Kind::kBytes; }
};

struct MessageModel {
  std::string full_name;
  bool map_entry = false;
  bool message_set = false;
  bool extension_ranges = false;
  bool extension = false;  // holds one extension, its only field: see extension_entry_name
  bool required_below = false;
  uint32_t oneof_count = 0;  // real ones: proto3 `optional` makes none
  std::vector<FieldModel> fields;

  // set by lay_out
  uint32_t object_size = 0;
  uint32_t has_words = 0;
};

struct EnumValueModel {
  std::string name;
  int32_t number;
};

struct EnumModel {
  std::string full_name;
  bool closed = false;
  std::vector<EnumValueModel> values;  // in declaration order; the first is the default
};

// The full name of the message that holds the extension of `extendee` with that number alone: "[pkg.Message:100]".
// Its field's name is the extension's full name, its JSON name that in brackets.
std::string extension_entry_name(const std::string& extendee, uint32_t number);

// Messages and enums each ascend by full name, as in the image.
struct Schema {
  std::vector<MessageModel> messages;
  std::vector<EnumModel> enums;

  // The index of that message or enum; -1 if it is absent.
  int64_t find_message(const std::string& full_name) const;
  int64_t find_enum(const std::string& full_name) const;
};

}  // namespace drover::schema
