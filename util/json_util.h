// MessageToJsonString and JsonStringToMessage with protobuf C++'s options (google/protobuf/util/json_util.h), for
// generated classes, on json/json.h, which says what is accepted and in which time.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "util/status.h"

namespace drover::util {

struct JsonParseOptions {
  bool ignore_unknown_fields = false;
};
struct JsonPrintOptions {
  bool add_whitespace = false;
  bool always_print_primitive_fields = false;
  bool always_print_enums_as_ints = false;
  bool preserve_proto_field_names = false;
};
using JsonOptions = JsonPrintOptions;

Status print_json(const schema::MessageType& type, const Message& message, const JsonPrintOptions& options,
                  std::string* out);
// Into an empty message, which keeps what was read before an error.
Status parse_json(const schema::MessageType& type, std::string_view text, const JsonParseOptions& options,
                  Message* message);

// Appends to *out. INVALID_ARGUMENT: the message has no JSON form; *out is as it was.
template <json::GeneratedMessage T>
Status MessageToJsonString(const T& message, std::string* out, const JsonPrintOptions& options = {}) {
  return print_json(T::drover_type(), message, options, out);
}
// Replaces *message. INVALID_ARGUMENT with the place and what was expected, also for a missing required field; *message
// is as it was.
template <json::GeneratedMessage T>
Status JsonStringToMessage(std::string_view text, T* message, const JsonParseOptions& options = {}) {
  T parsed;
  Status status = parse_json(T::drover_type(), text, options, &parsed);
  if (status.ok()) *message = std::move(parsed);  // a copy, if *message is in an arena
  return status;
}

}  // namespace drover::util
