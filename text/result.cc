// The texts of errors, and printing, which message/ does.
#include <iterator>

#include "codec/decode/install_decoder.h"
#include "text/text.h"

namespace drover::text {

const char* error_name(Error error) {
  static const char* const kNames[] = {
      "ok",
      "syntax error",
      "bad UTF-8",
      "nested too deeply",
      "wrong type",
      "out of range",
      "unknown field",
      "unknown extension",
      "unknown enum value",
      "unknown type",
      "duplicate field",
      "duplicate member of a oneof",
      "missing required field",
      "out of memory",
      "too large",
  };
  static_assert(std::size(kNames) == static_cast<size_t>(Error::kTooLarge) + 1);
  auto index = static_cast<size_t>(error);
  return index < std::size(kNames) ? kNames[index] : "unknown error";
}

std::string to_string(const Result& result) {
  std::string text = error_name(result.error);
  if (result.line != 0) text += " at " + std::to_string(result.line) + ":" + std::to_string(result.column);
  if (!result.path.empty()) text += (result.line != 0 ? ", in " : " in ") + result.path;
  if (!result.expected.empty()) text += ": expected " + result.expected;
  return text;
}

void print(const schema::MessageType& type, const Message& message, const PrintOptions& options, std::string* out) {
  install_decoder();
  message::print_text(type, message, options, out);
}

std::string to_string(const schema::MessageType& type, const Message& message, const PrintOptions& options) {
  install_decoder();
  return message::debug_text(type, message, options);
}

}  // namespace drover::text
