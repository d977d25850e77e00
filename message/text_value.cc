#include "message/text_value.h"

#include <cerrno>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "message/raw.h"
#include "object/string.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

std::string real_text(double value, int digits, int more_digits, bool is_float) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  errno = 0;  // protobuf treats a float so small that strtof reports underflow as inexact
  bool exact = is_float ? std::strtof(text, nullptr) == static_cast<float>(value) && errno == 0
                        : std::strtod(text, nullptr) == value;
  if (!exact) std::snprintf(text, sizeof(text), "%.*g", more_digits, value);
  return text;
}

// Of all kinds but strings.
std::string scalar_text(const MessageType& type, const FieldEntry& field, const char* at) {
  switch (static_cast<Kind>(field.kind)) {
    case Kind::kDouble:
      return real_text(raw::load<double>(at), DBL_DIG, DBL_DIG + 2, false);
    case Kind::kFloat:
      return real_text(raw::load<float>(at), FLT_DIG, FLT_DIG + 3, true);
    case Kind::kInt64:
    case Kind::kSint64:
    case Kind::kSfixed64:
      return std::to_string(raw::load<int64_t>(at));
    case Kind::kUint64:
    case Kind::kFixed64:
      return std::to_string(raw::load<uint64_t>(at));
    case Kind::kUint32:
    case Kind::kFixed32:
      return std::to_string(raw::load<uint32_t>(at));
    case Kind::kBool:
      return *at != 0 ? "true" : "false";
    case Kind::kEnum: {
      int32_t number = raw::load<int32_t>(at);
      const auto* found = type.image->find_enum_value(type.image->enum_entry(field.sub), number);
      return found == nullptr ? std::to_string(number) : type.image->name(found->name);
    }
    default:
      return std::to_string(raw::load<int32_t>(at));
  }
}

void append_string(const FieldEntry& field, std::string_view bytes, const TextOptions& options, std::string* out) {
  const bool keep = options.keep_utf8 && static_cast<Kind>(field.kind) == Kind::kString;
  const int64_t most = options.truncate_strings_to;
  if (most <= 0 || bytes.size() <= static_cast<size_t>(most)) return append_quoted(bytes, keep, out);
  append_quoted(std::string(bytes.substr(0, static_cast<size_t>(most))) + "...<truncated>...", keep, out);
}

}  // namespace

void append_text_value(const MessageType& type, const FieldEntry& field, const char* at, const TextOptions& options,
                       std::string* out) {
  if (schema::is_string_kind(field.kind)) {
    return append_string(field, reinterpret_cast<const String*>(at)->view(), options, out);
  }
  *out += scalar_text(type, field, at);
}

void append_quoted(std::string_view bytes, bool keep_utf8, std::string* out) {
  std::string& text = *out;
  text += '"';
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      case '"':
        text += "\\\"";
        break;
      case '\'':
        text += "\\'";
        break;
      case '\\':
        text += "\\\\";
        break;
      default:
        if (byte < 0x20 || (byte >= 0x7f && !(keep_utf8 && byte >= 0x80))) {
          char octal[8];
          std::snprintf(octal, sizeof(octal), "\\%03o", byte);
          text += octal;
        } else {
          text += c;
        }
    }
  }
  text += '"';
}

}  // namespace drover::message
