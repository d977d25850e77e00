// Numbers, words, strings and enums, as an object stores them.
#include <cfloat>
#include <charconv>
#include <cmath>
#include <limits>

#include "codec/utf8.h"
#include "message/decimal.h"
#include "text/parser.h"

namespace drover::text {

using schema::Kind;
using schema::MessageType;

namespace {

bool is_hex(std::string_view text) { return text.size() > 2 && (text[1] == 'x' || text[1] == 'X'); }
bool is_octal(std::string_view text) { return text.size() > 1 && text[0] == '0' && !is_hex(text); }

bool same_word(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// To the nearest float, as protobuf C++ converts: what DebugString prints for the largest float, 3.4028235e+38, is a
// bit more than it, and still is it.
float to_float(double value) {
  constexpr double kLargestAsPrinted = 3.4028235677973366e+38;
  if (std::fabs(value) > FLT_MAX) {  // a NaN is not
    const float size = std::fabs(value) <= kLargestAsPrinted ? FLT_MAX : std::numeric_limits<float>::infinity();
    return std::copysign(size, static_cast<float>(value));
  }
  return static_cast<float>(value);
}

}  // namespace

Parser::Scalar Parser::scalar(const MessageType& type, const FieldEntry& field, char* to) {
  auto read_signed = [&](auto largest) {
    int64_t wide;
    if (!signed_integer(largest, &wide)) return Scalar::kFailed;
    raw::store(to, static_cast<decltype(largest)>(wide));
    return Scalar::kStored;
  };
  auto read_unsigned = [&](auto largest) {
    uint64_t wide;
    if (!unsigned_integer(largest, &wide)) return Scalar::kFailed;
    raw::store(to, static_cast<decltype(largest)>(wide));
    return Scalar::kStored;
  };
  double wide;
  switch (static_cast<Kind>(field.kind)) {
    case Kind::kBool:
      return boolean(to) ? Scalar::kStored : Scalar::kFailed;
    case Kind::kDouble:
      if (!real(&wide)) return Scalar::kFailed;
      raw::store(to, wide);
      return Scalar::kStored;
    case Kind::kFloat:
      if (!real(&wide)) return Scalar::kFailed;
      raw::store(to, to_float(wide));
      return Scalar::kStored;
    case Kind::kEnum:
      return enum_value(type, field, to);
    case Kind::kInt64:
    case Kind::kSint64:
    case Kind::kSfixed64:
      return read_signed(std::numeric_limits<int64_t>::max());
    case Kind::kUint64:
    case Kind::kFixed64:
      return read_unsigned(std::numeric_limits<uint64_t>::max());
    case Kind::kUint32:
    case Kind::kFixed32:
      return read_unsigned(std::numeric_limits<uint32_t>::max());
    default:
      return read_signed(std::numeric_limits<int32_t>::max());
  }
}

bool Parser::unsigned_integer(uint64_t most, uint64_t* value) {
  if (lexer_.kind() != TokenKind::kInteger) return fail(Error::kWrongType, "an integer");
  std::string_view digits = lexer_.token();
  const int base = is_hex(digits) ? 16 : is_octal(digits) ? 8 : 10;
  digits.remove_prefix(base == 16 ? 2 : 0);
  const auto [behind, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value, base);
  if (error != std::errc() || *value > most) {
    return fail(Error::kOutOfRange, "an integer of at most " + std::to_string(most));
  }
  lexer_.next();
  return !lexer_.failed();
}

bool Parser::signed_integer(int64_t most, int64_t* value) {
  const bool negative = lexer_.take('-');
  uint64_t size;
  if (!unsigned_integer(static_cast<uint64_t>(most) + (negative ? 1 : 0), &size)) return false;
  *value = static_cast<int64_t>(negative ? 0 - size : size);
  return true;
}

bool Parser::boolean(char* to) {
  if (lexer_.kind() == TokenKind::kInteger) {
    uint64_t value;
    if (!unsigned_integer(1, &value)) return false;
    *to = static_cast<char>(value);
    return true;
  }
  const std::string_view word = lexer_.kind() == TokenKind::kName ? lexer_.token() : std::string_view();
  const bool is_true = word == "true" || word == "True" || word == "t";
  if (!is_true && word != "false" && word != "False" && word != "f") {
    return fail(Error::kWrongType, "true, false, t, f, 1 or 0");
  }
  *to = is_true ? 1 : 0;
  lexer_.next();
  return !lexer_.failed();
}

bool Parser::real(double* value) {
  const bool negative = lexer_.take('-');
  std::string_view text = lexer_.token();
  if (lexer_.kind() == TokenKind::kName && (same_word(text, "inf") || same_word(text, "infinity"))) {
    *value = std::numeric_limits<double>::infinity();
  } else if (lexer_.kind() == TokenKind::kName && same_word(text, "nan")) {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else if (lexer_.kind() == TokenKind::kReal ||
             (lexer_.kind() == TokenKind::kInteger && !is_hex(text) && !is_octal(text))) {
    if (text.back() == 'f' || text.back() == 'F') text.remove_suffix(1);
    if (!message::read_real(text, value)) *value = std::numeric_limits<double>::infinity();
  } else {
    return fail(Error::kWrongType, "a decimal number, inf or nan");
  }
  if (negative) *value = -*value;
  lexer_.next();
  return !lexer_.failed();
}

Parser::Scalar Parser::enum_value(const MessageType& type, const FieldEntry& field, char* to) {
  const schema::Image& image = *type.image;
  const schema::EnumEntry& e = image.enum_entry(field.sub);
  const bool by_name = lexer_.kind() == TokenKind::kName;
  const size_t at = lexer_.offset();
  const schema::EnumValueEntry* found;
  int64_t number = 0;
  if (by_name) {
    found = names_.find_enum_value(image, e, lexer_.token());
    lexer_.next();
  } else if (lexer_.is('-') || lexer_.kind() == TokenKind::kInteger) {
    if (!signed_integer(std::numeric_limits<int32_t>::max(), &number)) return Scalar::kFailed;
    found = image.find_enum_value(e, static_cast<int32_t>(number));
  } else {
    fail(Error::kWrongType, "an enum value's name or number");
    return Scalar::kFailed;
  }
  if (lexer_.failed()) return Scalar::kFailed;
  const bool open = (field.flags & schema::kFieldFlagClosedEnum) == 0;
  if (found == nullptr && (by_name || !open)) {
    if (options_.allow_unknown_enum) return Scalar::kSkipped;
    lexer_.fail_at(Error::kUnknownEnumValue, std::string("a value of ") + image.name(e.name), at);
    return Scalar::kFailed;
  }
  raw::store(to, found != nullptr ? found->number : static_cast<int32_t>(number));
  return Scalar::kStored;
}

// ---- strings

bool Parser::string(const FieldEntry& field, String* to) {
  const size_t at = lexer_.offset();
  std::string_view bytes;
  if (!lexer_.strings(&bytes)) return false;
  if ((field.flags & schema::kFieldFlagUtf8) != 0 && !is_valid_utf8(bytes.data(), bytes.size())) {
    return lexer_.fail_at(Error::kBadUtf8, "UTF-8 in a string", at);
  }
  return store_string(bytes, to);
}

bool Parser::store_string(std::string_view bytes, String* to) {
  if (bytes.empty()) return to->clear(), true;
  if (bytes.size() > String::kMaxSize) return fail(Error::kTooLarge, "at most 2 GiB - 1");
  char* at = to->allocate_in(arena_, bytes.size());
  if (at == nullptr) return no_memory();
  std::memcpy(at, bytes.data(), bytes.size());
  return true;
}

}  // namespace drover::text
