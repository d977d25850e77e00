// JSON: messages to text and back by the protobuf JSON mapping (protobuf.dev/programming-guides/json), driven by the
// schema image, for generated classes and for types loaded at run time alike.
//
//   std::string text = json::to_string(order);
//   json::Result result = json::from_string(text, &order);
//   if (!result.ok()) log(json::to_string(result));     // "wrong type at 3:17, in items[2].price: expected a number"
//
// Well-known types (Any, Timestamp, Duration, FieldMask, Struct, Value, ListValue, NullValue, the wrappers, Empty) have
// their own forms. Extensions that some image knows (message/extensions.h) are fields named "[pkg.extension]"; other
// unknown fields are not printed. The input is hostile: depth is limited, the time is linear in the text, and what is
// kept comes from the message's arena. Errors are values. Thread-safety: any number of calls at once on different
// messages; a message that is only printed may be shared.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "message/message.h"
#include "message/operations.h"
#include "message/type_resolver.h"
#include "schema/message_type.h"

namespace drover::json {

enum class Error : uint8_t {
  kOk = 0,
  kSyntax,            // not JSON; `expected` says what should stand there
  kBadUtf8,           // the text is not UTF-8, or escapes a surrogate without its other half
  kDepthLimit,        // objects and arrays (when printing: messages) nested deeper than the options allow
  kWrongType,         // a JSON value of another type than the field takes; null as an element is one, too
  kOutOfRange,        // a number that the field cannot hold
  kBadValue,          // text, or a message, that is not a valid timestamp, duration, field mask, base64 and the like
  kUnknownField,      // no field of that name
  kUnknownEnumValue,  // no value of that name
  kUnknownType,       // an Any names a type that the resolver does not find, or none at all
  kDuplicateField,    // a field, under either of its names, for the second time
  kDuplicateOneof,    // a second member of the same oneof
  kDuplicateKey,      // a map key for the second time
  kMissingRequired,   // only with check_required
  kBadAnyValue,       // the bytes of an Any do not parse as the type that it names
  kOutOfMemory,       // the message's arena has no more
  kTooLarge,          // a string, a repeated field or an Any past 2 GiB - 1
};
const char* error_name(Error error);

struct Result {
  Error error = Error::kOk;
  // Where in the text, for parse: the byte, and its line and column (in bytes), both counted from 1.
  size_t offset = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string path;      // the field, "items[2].price" or "prices[\"a\"]"; empty: the message itself
  std::string expected;  // what was expected: "a number", "a field of pkg.Order", ...
  bool ok() const { return error == Error::kOk; }
};
// "wrong type at 3:17, in items[2].price: expected a number"
std::string to_string(const Result& result);

// Finds the types that Any messages name.
using message::ImageResolver;
using message::TypeResolver;

struct PrintOptions {
  // Spaces per level; 0: all on one line, without blanks.
  int indent = 0;
  // Also print fields that have no presence and hold their default: implicit scalars, empty lists and maps.
  bool always_print_fields_without_presence = false;
  // field_name as in the .proto instead of fieldName.
  bool preserve_proto_field_names = false;
  bool enums_as_ints = false;
  // How deep messages may nest.
  int depth_limit = 100;
  const TypeResolver* resolver = nullptr;  // null: the message's own image, then those of all generated classes
};

struct ParseOptions {
  // Unknown fields are skipped, unknown enum names are dropped (a list or map loses the element).
  bool ignore_unknown = false;
  // A required field that is missing is an error.
  bool check_required = false;
  // How deep objects and arrays may nest.
  int depth_limit = 100;
  const TypeResolver* resolver = nullptr;  // null: the message's own image, then those of all generated classes
};

// ---- any message, by its type
// Appends the message to *out; after an error *out is as it was. Bytes of a string field that are not UTF-8 are printed
// as U+FFFD.
Result print(const schema::MessageType& type, const Message& message, const PrintOptions& options, std::string* out);

// Merges `text` into *message: singular fields are set, messages merge, lists grow, map entries are added or replaced.
// After an error the message keeps the fields read before it.
Result parse(const schema::MessageType& type, std::string_view text, const ParseOptions& options, Message* message);

// ---- generated classes
template <typename T>
concept GeneratedMessage = std::derived_from<T, Message> && requires {
  { T::drover_type() } -> std::convertible_to<const schema::MessageType&>;
};

// Replaces *out.
template <GeneratedMessage T>
Result to_string(const T& message, std::string* out, const PrintOptions& options = {}) {
  out->clear();
  return print(T::drover_type(), message, options, out);
}
// The text; empty after an error (no message has an empty text).
template <GeneratedMessage T>
std::string to_string(const T& message, const PrintOptions& options = {}) {
  std::string out;
  print(T::drover_type(), message, options, &out);
  return out;
}
// Clears *message first.
template <GeneratedMessage T>
Result from_string(std::string_view text, T* message, const ParseOptions& options = {}) {
  message::clear(T::drover_type(), message);
  return parse(T::drover_type(), text, options, message);
}

}  // namespace drover::json
