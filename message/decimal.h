// Decimal numbers in texts: digits with an optional point and exponent, to floating point, the nearest value and the
// same in every locale.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover::message {

// The parts of a number like "-12.5e3"; digits may be missing on one side of the point.
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction;  // digits
  int64_t exponent = 0;              // clamped: a text has fewer digits than the limits
};
Decimal split_decimal(std::string_view text);

// False if the value is too large, which leaves *value alone; values below the smallest become 0.
bool read_real(std::string_view text, double* value);
bool read_real(std::string_view text, float* value);

}  // namespace drover::message
