#include "json/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "message/decimal.h"

namespace drover::json {
namespace {

using message::Decimal;

// The number without its sign, if it is an integer of 64 bits. Digit i of the text counts 10^(whole + exponent - 1 -
// i).
Error magnitude(const Decimal& parts, uint64_t* value) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  const int64_t digits = static_cast<int64_t>(parts.whole.size() + parts.fraction.size());
  const int64_t integral = static_cast<int64_t>(parts.whole.size()) + parts.exponent;
  uint64_t result = 0;
  for (int64_t i = 0; i < digits; ++i) {
    const auto at = static_cast<size_t>(i);
    const char c = at < parts.whole.size() ? parts.whole[at] : parts.fraction[at - parts.whole.size()];
    const auto digit = static_cast<uint64_t>(c - '0');
    if (i >= integral) {
      if (digit != 0) return Error::kWrongType;
      continue;
    }
    if (result > (kMax - digit) / 10) return Error::kOutOfRange;
    result = result * 10 + digit;
  }
  if (result != 0) {
    for (int64_t i = digits; i < integral; ++i) {
      if (result > kMax / 10) return Error::kOutOfRange;
      result *= 10;
    }
  }
  *value = result;
  return Error::kOk;
}

// Plain digits where they are short (a large integer has all its digits written out), an exponent beyond.
// Negative zero gets a point: some readers take "-0" for an integer, and lose the sign.
template <typename T>
char* write_real(char* to, T value) {
  const T size = std::fabs(value);
  if (size == 0 && std::signbit(value)) return std::copy_n("-0.0", 4, to);
  constexpr T kPlainBelow = std::is_same_v<T, float> ? T(1e7) : T(1e15);
  const bool plain = size == 0 || (size >= T(1e-5) && size < kPlainBelow);
  return std::to_chars(to, to + kMaxNumber, value, plain ? std::chars_format::fixed : std::chars_format::scientific)
      .ptr;
}

}  // namespace

Error read_int64(std::string_view text, int64_t* value) {
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && behind == text.data() + text.size()) return Error::kOk;
  const Decimal parts = message::split_decimal(text);
  uint64_t size;
  if (const Error bad = magnitude(parts, &size); bad != Error::kOk) return bad;
  const uint64_t limit = uint64_t{std::numeric_limits<int64_t>::max()} + (parts.negative ? 1 : 0);
  if (size > limit) return Error::kOutOfRange;
  *value = static_cast<int64_t>(parts.negative ? 0 - size : size);
  return Error::kOk;
}

Error read_uint64(std::string_view text, uint64_t* value) {
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && behind == text.data() + text.size()) return Error::kOk;
  const Decimal parts = message::split_decimal(text);
  if (const Error bad = magnitude(parts, value); bad != Error::kOk) return bad;
  return parts.negative && *value != 0 ? Error::kOutOfRange : Error::kOk;
}

Error read_double(std::string_view text, double* value) {
  return message::read_real(text, value) ? Error::kOk : Error::kOutOfRange;
}
Error read_float(std::string_view text, float* value) {
  return message::read_real(text, value) ? Error::kOk : Error::kOutOfRange;
}

char* write_double(char* to, double value) { return write_real(to, value); }
char* write_float(char* to, float value) { return write_real(to, value); }
char* write_int64(char* to, int64_t value) { return std::to_chars(to, to + kMaxNumber, value).ptr; }
char* write_uint64(char* to, uint64_t value) { return std::to_chars(to, to + kMaxNumber, value).ptr; }

}  // namespace drover::json
