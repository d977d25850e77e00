// The texts of errors.
#include <iterator>

#include "json/json.h"

namespace drover::json {

const char* error_name(Error error) {
  static const char* const kNames[] = {
      "ok",
      "syntax error",
      "bad UTF-8",
      "nested too deeply",
      "wrong type",
      "out of range",
      "bad value",
      "unknown field",
      "unknown enum value",
      "unknown type",
      "duplicate field",
      "duplicate member of a oneof",
      "duplicate map key",
      "missing required field",
      "bad Any value",
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

}  // namespace drover::json
