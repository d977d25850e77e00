// Messages, fields, lists, maps and scalars.
#include "json/printer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "codec/decode/install_decoder.h"
#include "codec/utf8.h"
#include "json/base64.h"
#include "json/number.h"
#include "json/parser.h"
#include "json/well_known.h"

namespace drover::json {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

Result print(const MessageType& type, const Message& message, const PrintOptions& options, std::string* out) {
  return Printer(options, out).run(type, message);
}

Result Printer::run(const MessageType& type, const Message& object) {
  const size_t old = out_.size();
  Result result;
  if (!message(type, object.drover_bytes(), std::clamp(options_.depth_limit, 0, kMostDepth))) {
    out_.resize(old);
    result.error = error_;
    result.path = path_.text();
    result.expected = expected_;
  }
  return result;
}

bool Printer::message(const MessageType& type, const char* object, int depth) {
  switch (well_known(type)) {
    case WellKnown::kNone:
      if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
      open('{');
      return fields(type, object, depth - 1, true);
    case WellKnown::kAny:
      return any(type, object, depth);
    case WellKnown::kTimestamp:
      return time(type, object, false);
    case WellKnown::kDuration:
      return time(type, object, true);
    case WellKnown::kFieldMask:
      return field_mask(type, object);
    case WellKnown::kStruct:
      return map(type, object, *type.find_field(1), depth);
    case WellKnown::kValue:
      return value(type, object, depth);
    case WellKnown::kListValue:
      return list(type, object, *type.find_field(1), depth);
    case WellKnown::kWrapper: {
      const FieldEntry& field = *type.find_field(1);
      if (raw::present(object, field)) return element(type, field, object + field.offset, depth);
      return default_value(type, field), true;
    }
  }
  return false;
}

bool Printer::printed_when_absent(const FieldEntry& field) const {
  if (!options_.always_print_fields_without_presence) return false;
  if (field.label != schema::kLabelSingular) return true;
  return !schema::is_message_kind(field.kind) && field.case_offset == 0 && field.has_bit == schema::kNoHasBit;
}

bool Printer::fields(const MessageType& type, const char* object, int depth, bool first) {
  const schema::Image& image = *type.image;
  for (const FieldEntry& each : type.fields()) {
    const bool there =
        each.label == schema::kLabelSingular ? raw::present(object, each) : raw::words(object, each.offset)->size != 0;
    if (!there && !printed_when_absent(each)) continue;
    separate(&first);
    const char* name = image.name(options_.preserve_proto_field_names ? each.name : each.json_name);
    string(name);
    colon();
    if (!there && each.label == schema::kLabelSingular) {
      default_value(type, each);
      continue;
    }
    const Scope scope(&path_, name);
    if (!field(type, object, each, depth)) return false;
  }
  if (message::takes_extensions(type) && !extensions(type, object, depth, &first)) return false;
  close('}', first);
  return true;
}

// The unknown bytes that are some known extension's, decoded on the side.
bool Printer::extensions(const MessageType& type, const char* object, int depth, bool* first) {
  install_decoder();
  const message::DecodedExtensions decoded(type, object, &finder_);
  for (const auto& [extension, value] : decoded.extensions()) {
    separate(first);
    const char* name = extension.image->name(extension.fields()[0].json_name);  // in brackets
    string(name);
    colon();
    const Scope scope(&path_, name);
    if (!field(extension, value->drover_bytes(), extension.fields()[0], depth)) return false;
  }
  return true;
}

bool Printer::field(const MessageType& type, const char* object, const FieldEntry& field, int depth) {
  switch (field.label) {
    case schema::kLabelSingular:
      return element(type, field, object + field.offset, depth);
    case schema::kLabelRepeated:
      return list(type, object, field, depth);
    default:
      return map(type, object, field, depth);
  }
}

bool Printer::list(const MessageType& type, const char* object, const FieldEntry& field, int depth) {
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  const raw::Words* repeated = raw::words(object, field.offset);
  const size_t stride = schema::kStorageOfKind[field.kind];
  const char* at = repeated->begin();
  open('[');
  Scope scope(&path_);
  bool first = true;
  for (uint32_t i = 0; i < repeated->size; ++i, at += stride) {
    scope.set_index(i);
    separate(&first);
    if (!element(type, field, at, depth - 1)) return false;
  }
  close(']', first);
  return true;
}

bool Printer::map(const MessageType& type, const char* object, const FieldEntry& field, int depth) {
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  const auto* map = reinterpret_cast<const MapBase*>(object + field.offset);
  const MessageType entry_type = type.sub(field);
  const FieldEntry &key = entry_type.fields()[0], &value = entry_type.fields()[1];
  open('{');
  Scope scope(&path_);
  bool first = true;
  for (uint32_t i = 0; i < static_cast<uint32_t>(map->size()); ++i) {
    const char* entry = static_cast<const char*>(map->entry(i));
    scope.set_entry(entry, &key);
    separate(&first);
    map_key(key, entry + key.offset);
    colon();
    if (!element(entry_type, value, entry + value.offset, depth - 1)) return false;
  }
  close('}', first);
  return true;
}

// A value that is set: of a singular field, of a list, or of a map's entry.
bool Printer::element(const MessageType& type, const FieldEntry& field, const char* at, int depth) {
  if (!schema::is_message_kind(field.kind)) return scalar(type, field, at), true;
  const char* sub = reinterpret_cast<const raw::Pointer*>(at)->get();
  return sub != nullptr ? message(type.sub(field), sub, depth) : empty_message(type.sub(field), depth);
}

// A map's entry may lack its message: that is an empty one.
bool Printer::empty_message(const MessageType& type, int depth) {
  const std::vector<uint64_t> object(type.entry().object_size / 8);
  return message(type, reinterpret_cast<const char*>(object.data()), depth);
}

// ---- scalars

template <typename Write, typename T>
void Printer::number(Write write, T value, bool quoted) {
  char text[kMaxNumber + 2];
  char* to = text;
  if (quoted) *to++ = '"';
  to = write(to, value);
  if (quoted) *to++ = '"';
  out_.append(text, static_cast<size_t>(to - text));
}

template <typename T>
void Printer::real(T value) {
  if (std::isnan(value)) {
    out_ += "\"NaN\"";
  } else if (std::isinf(value)) {
    out_ += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else if constexpr (sizeof(T) == sizeof(float)) {
    number(write_float, value, false);
  } else {
    number(write_double, value, false);
  }
}

void Printer::scalar(const MessageType& type, const FieldEntry& field, const char* at) {
  switch (static_cast<Kind>(field.kind)) {
    case Kind::kDouble:
      return real(raw::load<double>(at));
    case Kind::kFloat:
      return real(raw::load<float>(at));
    case Kind::kInt64:
    case Kind::kSint64:
    case Kind::kSfixed64:
      return number(write_int64, raw::load<int64_t>(at), true);
    case Kind::kUint64:
    case Kind::kFixed64:
      return number(write_uint64, raw::load<uint64_t>(at), true);
    case Kind::kUint32:
    case Kind::kFixed32:
      return number(write_uint64, uint64_t{raw::load<uint32_t>(at)}, false);
    case Kind::kBool:
      out_ += *at != 0 ? "true" : "false";
      return;
    case Kind::kString:
      return string(reinterpret_cast<const String*>(at)->view());
    case Kind::kBytes:
      out_ += '"';
      append_base64(reinterpret_cast<const String*>(at)->view(), &out_);
      out_ += '"';
      return;
    case Kind::kEnum:
      return enum_value(type, field, raw::load<int32_t>(at));
    default:
      return number(write_int64, int64_t{raw::load<int32_t>(at)}, false);
  }
}

void Printer::enum_value(const MessageType& type, const FieldEntry& field, int32_t number_of_value) {
  const schema::Image& image = *type.image;
  if (is_null_value(image, field)) {
    out_ += "null";
    return;
  }
  const auto* found =
      options_.enums_as_ints ? nullptr : image.find_enum_value(image.enum_entry(field.sub), number_of_value);
  if (found == nullptr) return number(write_int64, int64_t{number_of_value}, false);
  plain_string(image.name(found->name));
}

// The default of a field that has no presence: zero, but for an enum whose first value is not.
void Printer::default_value(const MessageType& type, const FieldEntry& field) {
  alignas(8) const char zero[sizeof(String)] = {};
  if (schema::is_string_kind(field.kind)) return scalar(type, field, zero);
  const uint64_t bits = type.image->default_scalar(field);
  scalar(type, field, reinterpret_cast<const char*>(&bits));
}

void Printer::map_key(const FieldEntry& key, const char* at) {
  switch (static_cast<Kind>(key.kind)) {
    case Kind::kString:
      return string(reinterpret_cast<const String*>(at)->view());
    case Kind::kBool:
      return plain_string(*at != 0 ? "true" : "false");
    case Kind::kUint64:
    case Kind::kFixed64:
      return number(write_uint64, raw::load<uint64_t>(at), true);
    case Kind::kUint32:
    case Kind::kFixed32:
      return number(write_uint64, uint64_t{raw::load<uint32_t>(at)}, true);
    case Kind::kInt64:
    case Kind::kSint64:
    case Kind::kSfixed64:
      return number(write_int64, raw::load<int64_t>(at), true);
    default:
      return number(write_int64, int64_t{raw::load<int32_t>(at)}, true);
  }
}

// ---- strings

void Printer::plain_string(std::string_view text) {
  out_ += '"';
  out_ += text;
  out_ += '"';
}

namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// `text` with each byte outside of a valid character replaced.
std::string mended(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t size = 1;
    while (size <= 4 && size <= text.size() && !is_valid_utf8(text.data(), size)) ++size;
    const bool good = size <= 4 && size <= text.size();
    if (!good) size = 1;
    result += good ? text.substr(0, size) : kReplacement;
    text.remove_prefix(size);
  }
  return result;
}

void append_escape(unsigned char c, std::string* out) {
  static constexpr char kLetters[] = "uuuuuuuubtnufr";  // by code, up to 13
  *out += '\\';
  const char letter = c < sizeof(kLetters) - 1 ? kLetters[c] : c < 0x20 ? 'u' : static_cast<char>(c);
  *out += letter;
  if (letter != 'u' || c == 'u') return;
  *out += "00";
  *out += kHex[c >> 4];
  *out += kHex[c & 15];
}

// The first byte from p on that is escaped, or not ASCII and *ascii is wanted.
const char* plain_end(const char* p, const char* end, bool* ascii) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  uint64_t high = 0;
  for (; end - p >= 8; p += 8) {
    const auto word = raw::load<uint64_t>(p);
    const uint64_t quote = word ^ kOnes * '"', backslash = word ^ kOnes * '\\';
    const uint64_t stops =
        ((word - kOnes * 0x20) & ~word) | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash);
    if ((stops & kHigh) != 0) break;
    high |= word;
  }
  for (; p < end && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20; ++p) {
    high |= static_cast<unsigned char>(*p) & kHigh;
  }
  if ((high & kHigh) != 0) *ascii = false;
  return p;
}

}  // namespace

void Printer::string(std::string_view text) {
  const size_t old = out_.size();
  out_ += '"';
  bool ascii = true;
  const char *p = text.data(), *end = p + text.size();
  for (;;) {
    const char* stop = plain_end(p, end, &ascii);
    out_.append(p, static_cast<size_t>(stop - p));
    if (stop == end) break;
    append_escape(static_cast<unsigned char>(*stop), &out_);
    p = stop + 1;
  }
  out_ += '"';
  if (ascii || is_valid_utf8(text.data(), text.size())) [[likely]]
    return;
  out_.resize(old);
  string(mended(text));
}

}  // namespace drover::json
