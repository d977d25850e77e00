// TypeResolver: the types that the type URLs of google.protobuf.Any name, for JSON and the text format. Thread-safety:
// as an implementation says; the one here is free for all threads.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "schema/message_type.h"

namespace drover::message {

// Finds the types that Any messages name. Called from whichever thread prints or parses.
class TypeResolver {
 public:
  // The message of that full name ("pkg.Outer.Inner"); its image is null if it is unknown.
  virtual schema::MessageType find_message(std::string_view full_name) const = 0;

 protected:
  ~TypeResolver() = default;
};

// The messages of some images, the first one that has the name. The images must outlive it.
class ImageResolver final : public TypeResolver {
 public:
  explicit ImageResolver(std::vector<const schema::Image*> images) : images_(std::move(images)) {}
  schema::MessageType find_message(std::string_view full_name) const override;

 private:
  std::vector<const schema::Image*> images_;
};

// The message that a type URL, "type.googleapis.com/pkg.Message", names. Without a resolver it is looked up in `own`
// and in the images of all generated classes. Its image is null if it is unknown, or if no Any can hold it (a map's
// entry, or an extension's).
schema::MessageType find_any_type(const TypeResolver* resolver, const schema::Image& own, std::string_view url);

// google.protobuf.Any, by name and by its two fields: a schema loaded at run time may give the name to any message.
bool is_any(const schema::MessageType& type);

}  // namespace drover::message
