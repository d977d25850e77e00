// The text format: messages to text and back (protobuf.dev/reference/protobuf/textformat-spec), driven by the schema
// image, for generated classes and for types loaded at run time alike.
//
//   std::string text = text::to_string(order);                 // id: 7\nitems {\n  name: "pen"\n}\n
//   text::Result result = text::from_string(text, &order);
//   if (!result.ok()) log(text::to_string(result));    // "out of range at 3:17, in items[2].count: expected an int32"
//
// Extensions that some image knows (message/extensions.h) go by "[pkg.extension]", the content of an Any by its type
// URL. The input is hostile: depth is limited, the time is linear in the text (times the depth of Anys and extensions
// in each other), and what is kept comes from the message's arena. Errors are values. Thread-safety: any number of
// calls at once on different messages; a message that is only printed may be shared.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "message/message.h"
#include "message/operations.h"
#include "message/text_options.h"
#include "message/type_resolver.h"
#include "schema/message_type.h"

namespace drover::text {

enum class Error : uint8_t {
  kOk = 0,
  kSyntax,            // not the text format; `expected` says what should stand there
  kBadUtf8,           // a string whose field is checked holds other bytes
  kDepthLimit,        // messages nested deeper than the options allow
  kWrongType,         // a value of another type than the field takes
  kOutOfRange,        // a number that the field cannot hold
  kUnknownField,      // no field of that name (or number)
  kUnknownExtension,  // no extension of that name that extends the message
  kUnknownEnumValue,  // no value of that name, or of that number if the enum is closed
  kUnknownType,       // an Any names a type that the resolver does not find
  kDuplicateField,    // a singular field for the second time
  kDuplicateOneof,    // a second member of the same oneof
  kMissingRequired,   // unless allow_partial
  kOutOfMemory,       // the message's arena has no more
  kTooLarge,          // a string, an extension or an Any past 2 GiB - 1
};
const char* error_name(Error error);

struct Result {
  Error error = Error::kOk;
  // Where in the text: the byte, and its line and column (in bytes), both counted from 1; 0: not at a place.
  size_t offset = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string path;      // the field, "items[2].price" or "prices[\"a\"]"; empty: the message itself
  std::string expected;  // what was expected: "an integer", "a field of pkg.Order", ...
  bool ok() const { return error == Error::kOk; }
};
// "wrong type at 3:17, in items[2].price: expected an integer"
std::string to_string(const Result& result);

using message::ImageResolver;
using message::TypeResolver;

struct ParseOptions {
  bool allow_partial = false;            // a missing required field is no error
  bool allow_unknown_field = false;      // skip fields and extensions that the schema does not know
  bool allow_unknown_extension = false;  // skip only such extensions
  bool allow_unknown_enum = false;       // skip values that an enum does not have
  bool allow_any_case = false;           // field names in letters of either case
  bool allow_field_number = false;       // numbers for names, of fields and extensions
  // A singular field may come again, and another member of its oneof behind it: the last one counts, messages merge.
  bool allow_overwrites = false;
  // How deep messages may nest; at most kMostDepth.
  int depth_limit = 100;
  const TypeResolver* resolver = nullptr;  // null: the message's own image, then those of all generated classes
};
// Each level may be an extension, two objects deep; the operations on objects (message/operations.h) go 1000 deep.
inline constexpr int kMostDepth = 330;

using PrintOptions = message::TextOptions;

// ---- any message, by its type
// Appends the message to *out. With one_line, each field ends with a blank, also the last.
void print(const schema::MessageType& type, const Message& message, const PrintOptions& options, std::string* out);

// The text; with one_line, without a blank at the end.
std::string to_string(const schema::MessageType& type, const Message& message, const PrintOptions& options);

// Merges `text` into *message: singular fields are set, messages merge, lists grow, map entries are added or replaced.
// A field that was set before the call counts as one that the text has set; an extension does not. Without
// allow_overwrites, start empty.
// After an error the message keeps the fields read before it.
Result parse(const schema::MessageType& type, std::string_view text, const ParseOptions& options, Message* message);

// ---- generated classes
template <typename T>
concept GeneratedMessage = std::derived_from<T, Message> && requires {
  { T::drover_type() } -> std::convertible_to<const schema::MessageType&>;
};

template <GeneratedMessage T>
std::string to_string(const T& message, const PrintOptions& options = {}) {
  return to_string(T::drover_type(), message, options);
}
// Clears *message first.
template <GeneratedMessage T>
Result from_string(std::string_view text, T* message, const ParseOptions& options = {}) {
  message::clear(T::drover_type(), message);
  return parse(T::drover_type(), text, options, message);
}

}  // namespace drover::text
