// The forms of google.protobuf's well-known types that are not an object of their fields.
#include <cmath>

#include "codec/decode/decode.h"
#include "json/parser.h"
#include "json/printer.h"
#include "json/special_text.h"
#include "json/well_known.h"
#include "message/edit.h"

namespace drover::json {

using schema::FieldEntry;
using schema::MessageType;

bool Printer::time(const MessageType& type, const char* object, bool is_duration) {
  const auto seconds = raw::load<int64_t>(object + type.find_field(1)->offset);
  const auto nanos = raw::load<int32_t>(object + type.find_field(2)->offset);
  out_ += '"';
  if (!(is_duration ? append_duration(seconds, nanos, &out_) : append_timestamp(seconds, nanos, &out_))) {
    return fail(Error::kBadValue, is_duration ? "at most 315576000000 seconds, and nanos of the same sign"
                                              : "a time of the years 1 to 9999, and nanos of 0 to 999999999");
  }
  out_ += '"';
  return true;
}

bool Printer::field_mask(const MessageType& type, const char* object) {
  const raw::Words* paths = raw::words(object, type.find_field(1)->offset);
  const auto* strings = reinterpret_cast<const String*>(paths->begin());
  out_ += '"';
  for (uint32_t i = 0; i < paths->size; ++i) {
    if (i != 0) out_ += ',';
    if (!append_mask_path(strings[i].view(), &out_)) {
      return fail(Error::kBadValue, "field paths of small letters, digits and single '_' in front of a letter");
    }
  }
  out_ += '"';
  return true;
}

bool Printer::value(const MessageType& type, const char* object, int depth) {
  for (uint32_t number = 1; number <= 6; ++number) {
    const FieldEntry& member = *type.find_field(number);
    // Without a oneof, as a foreign schema may have it, the first that is set counts.
    if (!raw::present(object, member)) continue;
    const char* at = object + member.offset;
    if (number == 2 && !std::isfinite(raw::load<double>(at))) {
      return fail(Error::kBadValue, "a finite number in a Value");
    }
    if (number != 1) return element(type, member, at, depth);
    out_ += "null";
    return true;
  }
  return fail(Error::kBadValue, "a Value with one of its members set");
}

// ---- Any

bool Printer::any(const MessageType& type, const char* object, int depth) {
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  const auto* url = reinterpret_cast<const String*>(object + type.find_field(1)->offset);
  const auto* wire = reinterpret_cast<const String*>(object + type.find_field(2)->offset);
  if (url->empty() && wire->empty()) {
    out_ += "{}";
    return true;
  }
  const MessageType content = find_any_type(options_.resolver, *type.image, url->view());
  if (content.image == nullptr) {
    return fail(Error::kUnknownType, "a type URL, \"type.googleapis.com/\" and a known message's name");
  }
  return any_content(content, url->view(), wire->view(), depth);
}

bool Printer::any_content(const MessageType& content, std::string_view url, std::string_view wire, int depth) {
  Arena arena;
  char* object = raw::new_object(content, &arena);
  if (object == nullptr) return fail(Error::kOutOfMemory, "memory for the content of an Any");
  DecodeOptions options;
  options.alias = true;
  options.depth_limit = 3 * kMostDepth;  // objects; the text's depth is limited by itself
  const DecodeResult decoded = decode(content, reinterpret_cast<Message*>(object), wire, arena, options);
  if (!decoded.ok()) return fail(Error::kBadAnyValue, "a " + std::string(content.full_name()) + " in the Any");
  open('{');
  bool first = true;
  separate(&first);
  plain_string("@type");
  colon();
  string(url);
  if (well_known(content) == WellKnown::kNone) return fields(content, object, depth - 1, false);
  separate(&first);
  plain_string("value");
  colon();
  const Scope scope(&path_, "value");
  if (!message(content, object, depth - 1)) return false;
  close('}', false);
  return true;
}

}  // namespace drover::json
