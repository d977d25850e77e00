#include "util/json_util.h"

namespace drover::util {
namespace {

constexpr int kIndent = 1;  // protobuf's, with add_whitespace

Status to_status(const json::Result& result) {
  return result.ok() ? OkStatus() : Status(StatusCode::kInvalidArgument, json::to_string(result));
}

}  // namespace

Status print_json(const schema::MessageType& type, const Message& message, const JsonPrintOptions& options,
                  std::string* out) {
  json::PrintOptions print;
  print.indent = options.add_whitespace ? kIndent : 0;
  print.always_print_fields_without_presence = options.always_print_primitive_fields;
  print.enums_as_ints = options.always_print_enums_as_ints;
  print.preserve_proto_field_names = options.preserve_proto_field_names;
  const size_t before = out->size();
  const Status status = to_status(json::print(type, message, print, out));
  if (status.ok() && options.add_whitespace && out->size() > before && out->back() != '\n') out->push_back('\n');
  return status;
}

Status parse_json(const schema::MessageType& type, std::string_view text, const JsonParseOptions& options,
                  Message* message) {
  json::ParseOptions parse;
  parse.ignore_unknown = options.ignore_unknown_fields;
  parse.check_required = true;
  return to_status(json::parse(type, text, parse, message));
}

}  // namespace drover::util
