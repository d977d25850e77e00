#include "message/decimal.h"

#include <algorithm>
#include <charconv>

namespace drover::message {
namespace {

constexpr int64_t kFarExponent = int64_t{1} << 40;

template <typename T>
bool read(std::string_view text, T* value) {
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc()) return true;
  // Too large or too small? By the place of the first digit that is not zero.
  const Decimal parts = split_decimal(text);
  int64_t place = static_cast<int64_t>(parts.whole.size()) + parts.exponent;
  const size_t first = parts.whole.find_first_not_of('0');
  if (first != std::string_view::npos) {
    place -= static_cast<int64_t>(first);
  } else {
    const size_t behind_point = parts.fraction.find_first_not_of('0');
    place = parts.exponent - static_cast<int64_t>(std::min(behind_point, parts.fraction.size()));
  }
  if (place > 0) return false;
  *value = parts.negative ? T{-0.0f} : T{0};
  return true;
}

}  // namespace

Decimal split_decimal(std::string_view text) {
  Decimal parts;
  if (text.front() == '-') {
    parts.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    const bool negative = digits.front() == '-';
    if (digits.front() == '-' || digits.front() == '+') digits.remove_prefix(1);
    for (const char c : digits) parts.exponent = std::min(parts.exponent * 10 + (c - '0'), kFarExponent);
    if (negative) parts.exponent = -parts.exponent;
    text = text.substr(0, e);
  }
  const size_t point = text.find('.');
  parts.whole = text.substr(0, point);
  if (point != std::string_view::npos) parts.fraction = text.substr(point + 1);
  return parts;
}

bool read_real(std::string_view text, double* value) { return read(text, value); }
bool read_real(std::string_view text, float* value) { return read(text, value); }

}  // namespace drover::message
