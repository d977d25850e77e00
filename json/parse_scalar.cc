// Numbers, words, strings and enums, as an object stores them.
#include <limits>

#include "codec/wire.h"
#include "json/base64.h"
#include "json/number.h"
#include "json/parser.h"
#include "json/well_known.h"

namespace drover::json {

using schema::Kind;
using schema::MessageType;

bool Parser::scalar(const FieldEntry& field, char* to) {
  const auto kind = static_cast<Kind>(field.kind);
  switch (kind) {
    case Kind::kBool:
      if (lexer_.peek() != 't' && lexer_.peek() != 'f') return fail(Error::kWrongType, "true or false");
      *to = lexer_.peek() == 't' ? 1 : 0;
      return lexer_.literal(*to != 0 ? "true" : "false");
    case Kind::kDouble:
    case Kind::kFloat:
      return real(kind, to);
    default: {
      std::string_view text;
      return number_text(&text) && integer(kind, text, to);
    }
  }
}

// A number, bare or in quotes.
bool Parser::number_text(std::string_view* text) {
  const char c = lexer_.peek();
  if (Lexer::starts_number(c)) return lexer_.number(text);
  if (c != '"') return fail(Error::kWrongType, "a number");
  return lexer_.string(text) && (is_number(*text) || fail_at_token(Error::kWrongType, "a number"));
}

namespace {

// Reads the text as a Wide, and stores it as a T if it is one.
template <typename T, typename Wide>
Error read_as(Error (*read)(std::string_view, Wide*), std::string_view text, char* to) {
  Wide wide = 0;
  if (const Error error = read(text, &wide); error != Error::kOk) return error;
  if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) return Error::kOutOfRange;
  raw::store(to, static_cast<T>(wide));
  return Error::kOk;
}

}  // namespace

bool Parser::integer(Kind kind, std::string_view text, char* to) {
  Error error;
  const char* expected;
  switch (kind) {
    case Kind::kInt64:
    case Kind::kSint64:
    case Kind::kSfixed64:
      error = read_as<int64_t>(read_int64, text, to);
      expected = "an integer of 64 bits";
      break;
    case Kind::kUint64:
    case Kind::kFixed64:
      error = read_as<uint64_t>(read_uint64, text, to);
      expected = "an unsigned integer of 64 bits";
      break;
    case Kind::kUint32:
    case Kind::kFixed32:
      error = read_as<uint32_t>(read_uint64, text, to);
      expected = "an unsigned integer of 32 bits";
      break;
    default:
      error = read_as<int32_t>(read_int64, text, to);
      expected = "an integer of 32 bits";
  }
  return error == Error::kOk || fail_at_token(error, expected);
}

bool Parser::real(Kind kind, char* to) {
  const bool is_float = kind == Kind::kFloat;
  std::string_view text;
  if (lexer_.peek() == '"') {
    if (!lexer_.string(&text)) return false;
    double special = 0;
    if (text == "NaN") special = std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") special = std::numeric_limits<double>::infinity();
    if (text == "-Infinity") special = -std::numeric_limits<double>::infinity();
    if (special != 0) {
      is_float ? raw::store(to, static_cast<float>(special)) : raw::store(to, special);
      return true;
    }
    if (!is_number(text)) {
      return fail_at_token(Error::kWrongType, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
    }
  } else if (!number_text(&text)) {
    return false;
  }
  if (is_float) {
    float value;
    if (read_float(text, &value) != Error::kOk) return fail_at_token(Error::kOutOfRange, "a float");
    raw::store(to, value);
  } else {
    double value;
    if (read_double(text, &value) != Error::kOk) return fail_at_token(Error::kOutOfRange, "a double");
    raw::store(to, value);
  }
  return true;
}

// ---- enums

Parser::EnumText Parser::enum_value(const MessageType& type, const FieldEntry& field, int32_t* number) {
  const schema::Image& image = *type.image;
  const schema::EnumEntry& e = image.enum_entry(field.sub);
  std::string_view text;
  if (lexer_.peek() == 'n' && is_null_value(image, field)) {
    *number = 0;
    return lexer_.literal("null") ? EnumText::kStored : EnumText::kFailed;
  }
  if (lexer_.peek() == '"') {
    if (!lexer_.string(&text)) return EnumText::kFailed;
    if (const auto* value = names_.find_enum_value(image, e, text)) {
      *number = value->number;
      return EnumText::kStored;
    }
    if (!is_number(text)) {
      if (options_.ignore_unknown) return EnumText::kIgnored;
      fail_at_token(Error::kUnknownEnumValue, std::string("a value of ") + image.name(e.name));
      return EnumText::kFailed;
    }
  } else if (Lexer::starts_number(lexer_.peek())) {
    if (!lexer_.number(&text)) return EnumText::kFailed;
  } else {
    fail(Error::kWrongType, "an enum value's name or number");
    return EnumText::kFailed;
  }
  char bits[4];
  if (!integer(Kind::kInt32, text, bits)) return EnumText::kFailed;
  *number = raw::load<int32_t>(bits);
  const bool closed = (field.flags & schema::kFieldFlagClosedEnum) != 0;
  return closed && image.find_enum_value(e, *number) == nullptr ? EnumText::kUnknownNumber : EnumText::kStored;
}

bool Parser::unknown_enum(char* object, const FieldEntry& field, int32_t number) {
  char wire[2 * wire::kMaxVarint];
  char* to = wire::write_varint(wire, wire::make_tag(field.number, wire::kVarint));
  to = wire::write_varint(to, static_cast<uint64_t>(int64_t{number}));
  return raw::append_unknown(object, {wire, static_cast<size_t>(to - wire)}, arena_) || no_memory();
}

// ---- strings

bool Parser::string(const FieldEntry& field, String* to) {
  std::string_view text;
  if (lexer_.peek() != '"') return fail(Error::kWrongType, "a string");
  if (!lexer_.string(&text)) return false;
  if (field.kind == static_cast<uint8_t>(Kind::kString)) return store_string(text, to);
  const ptrdiff_t size = base64_decoded_size(text);
  if (size < 0) return fail_at_token(Error::kBadValue, "base64");
  if (size == 0) return to->clear(), true;
  char* bytes = to->allocate_in(arena_, static_cast<size_t>(size));
  if (bytes == nullptr) return no_memory();
  return decode_base64(text, bytes) || fail_at_token(Error::kBadValue, "base64");
}

bool Parser::store_string(std::string_view bytes, String* to) {
  if (bytes.empty()) return to->clear(), true;
  if (bytes.size() > String::kMaxSize) return fail_at_token(Error::kTooLarge, "at most 2 GiB - 1");
  char* at = to->allocate_in(arena_, bytes.size());
  if (at == nullptr) return no_memory();
  std::memcpy(at, bytes.data(), bytes.size());
  return true;
}

}  // namespace drover::json
