// DynamicSchema: a schema loaded at run time from a FileDescriptorSet (`protoc --include_imports
// --descriptor_set_out=...`). It owns the image built from it.
//
//   schema::DynamicSchema schema;
//   std::string error = schema::DynamicSchema::load(bytes, &schema);
//   std::optional<schema::MessageType> type = schema.find_message("shop.Order");
//
// From then on its types are like compiled ones: the same image, the same decoder at the same speed
// (codec/decode/decode.h), objects of message/reflection.h, JSON. protobuf's own rules check the set, and a schema
// beyond the formats' limits is refused; both errors are texts with the reason. Thread-safety: const functions from any
// thread. Movable; its MessageTypes stay valid, and die with it.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/image_load.h"
#include "schema/message_type.h"

namespace drover::schema {

class DynamicSchema {
 public:
  DynamicSchema() = default;

  // From a serialized FileDescriptorSet, or a parsed one; it must hold every file that one of them imports. Sets *out,
  // and returns an empty string, or what is wrong.
  static std::string load(std::string_view file_descriptor_set, DynamicSchema* out);
  static std::string load(const google::protobuf::FileDescriptorSet& set, DynamicSchema* out);

  // The message of that full name, "pkg.Outer.Inner".
  std::optional<MessageType> find_message(std::string_view full_name) const;
  // All messages but map entries and extensions, in ascending order of their full names.
  std::vector<MessageType> messages() const;

  bool valid() const { return image_.valid(); }
  const Image& image() const { return image_.image(); }

 private:
  OwnedImage image_;
};

}  // namespace drover::schema
