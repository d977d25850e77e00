// Extensions: which types extend a message, and the extensions in an object's unknown bytes.
//
// An extension is a message of its own in a schema image (schema/model.h, extension_entry_name). Those of a message are
// looked up in its type's image, then in all images that generated code has registered. The object itself holds only
// the bytes.
//
// Thread-safety: images register while the process starts or a library is loaded; looking up is free for all threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "message/message.h"
#include "message/unknown_records.h"
#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::message {

// A static object in each generated file: registers its image for the process.
class RegisteredImage {
 public:
  explicit RegisteredImage(const schema::Image* image);
  ~RegisteredImage();  // runs when its library is unloaded; no thread may be looking up types
  RegisteredImage(const RegisteredImage&) = delete;
  RegisteredImage& operator=(const RegisteredImage&) = delete;

  const schema::Image* image() const { return image_; }
  const RegisteredImage* next() const { return next_; }
  static const RegisteredImage* first();

 private:
  const schema::Image* image_;
  RegisteredImage* next_ = nullptr;
};

// The type whose only field is that extension of `extendee`; its image is null if it is unknown.
schema::MessageType find_extension(const schema::MessageType& extendee, uint32_t number);
// The same by the extension's full name.
schema::MessageType find_extension(const schema::MessageType& extendee, std::string_view full_name);
// Any message of a registered image.
schema::MessageType find_registered_message(std::string_view full_name);

// The name in brackets in text and JSON: the extension's full name, or for a message set's extension that a message
// declares in itself, that message's full name.
std::string_view extension_print_name(const schema::MessageType& extendee, const schema::MessageType& extension);

inline bool is_message_set(const schema::MessageType& type) {
  return (type.entry().flags & schema::kMessageFlagMessageSet) != 0;
}
inline bool takes_extensions(const schema::MessageType& type) {
  return (type.entry().flags & schema::kMessageFlagExtensionRanges) != 0;
}
// Whether a record with the extension's number is the extension, by its wire type.
bool is_occurrence(const schema::FieldEntry& extension, const UnknownRecord& record);

// Merges `wire` into the object; false if it is malformed. This folder stands below the codec, which installs its
// decoder here when the process starts. Without one, extensions are printed as unknown fields and not checked.
using DecodeWire = bool (*)(const schema::MessageType& type, Message* object, std::string_view wire, Arena* arena);
inline std::atomic<DecodeWire> installed_decoder{nullptr};

// Finds the extensions of many objects' types: looks each type up once. For the length of one walk over an object or a
// text.
class ExtensionFinder {
 public:
  // As find_extension. Without `all`, only what may miss required fields.
  schema::MessageType find(const schema::MessageType& extendee, uint32_t number, bool all);
  // By the name that texts have in brackets (extension_print_name), or the full name.
  schema::MessageType find_printed(const schema::MessageType& extendee, std::string_view name);

 private:
  std::map<const schema::MessageEntry*, std::vector<schema::MessageType>> by_number_;
  std::map<const schema::MessageEntry*, std::map<std::string_view, schema::MessageType>> by_name_;
};

// All known extensions of an object, decoded.
class DecodedExtensions {
 public:
  struct Extension {
    schema::MessageType type;  // type.fields()[0] is the extension
    Message* object;           // lives as long as the DecodedExtensions
  };
  enum class Which { kAll, kMayMissRequired };

  // Cheap if the message takes no extensions or the object has no unknown fields.
  DecodedExtensions(const schema::MessageType& type, const char* object, ExtensionFinder* finder,
                    Which which = Which::kAll);

  // Ascending by number, only those that are set.
  const std::vector<Extension>& extensions() const { return extensions_; }
  // The unknown fields that are no extensions, as wire bytes in their order.
  std::string_view unknown() const { return no_extensions_ ? all_ : std::string_view(rest_); }

 private:
  void decode(const schema::MessageType& type, ExtensionFinder* finder, Which which);
  void decode_item(const schema::MessageType& found, Message* object, const UnknownRecord& record,
                   DecodeWire decode_wire);
  bool add(const schema::MessageType& found, const UnknownRecord& record, DecodeWire decode_wire);

  std::string_view all_;
  bool no_extensions_ = true;
  std::string rest_;
  std::vector<Extension> extensions_;  // by number
  Arena arena_;
};

}  // namespace drover::message
