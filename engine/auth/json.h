// A JSON text as a tree, read with bounds: for tokens, which anybody may send, and for key files (RFC 8259; the strict
// reading that RFC 7515, section 4, and RFC 7519, section 4, allow: names must be unique).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine::auth {

struct Json {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  // Of an object; null: it has none of that name.
  const Json* find(std::string_view name) const;
  bool is(Kind of) const { return kind == of; }
  // Heap bytes, about.
  size_t memory() const;

  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;                // of a string, its characters; of a number, as it was written
  std::vector<Json> items;         // of an array or an object
  std::vector<std::string> names;  // of an object's items, in the same order
};

struct JsonLimits {
  size_t bytes;
  size_t depth;   // of arrays and objects in each other; an object alone is 1
  size_t values;  // of all kinds, together
};

// kTooLarge: beyond the limits, or more than 128 names in one object.
enum class JsonError : uint8_t { kOk, kMalformed, kDuplicate, kTooLarge };

// One object, and nothing behind it. Not kOk: `out` has any part of it.
JsonError parse_object(std::string_view text, const JsonLimits& limits, Json* out);

}  // namespace drover::engine::auth
