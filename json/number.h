// Numbers as JSON writes them: decimal text to integers, exactly, and to floating point; and the shortest text that
// reads back as the same value.
#pragma once

#include <cstdint>
#include <string_view>

#include "json/json.h"

namespace drover::json {

// `text` keeps to JSON's grammar (lexer.h, is_number). An integer may be written with a fraction and an exponent as
// long as its value is one: 1.50e1 is 15. Error::kOk, ::out_of_range, or ::wrong_type if it is not an integer.
Error read_int64(std::string_view text, int64_t* value);
Error read_uint64(std::string_view text, uint64_t* value);
// Error::kOk, or ::out_of_range if it is too large; values below the smallest become 0.
Error read_double(std::string_view text, double* value);
Error read_float(std::string_view text, float* value);

// Writes a finite number to `to`, which has room for kMaxNumber bytes; returns its end.
inline constexpr int kMaxNumber = 32;
char* write_double(char* to, double value);
char* write_float(char* to, float value);
char* write_int64(char* to, int64_t value);
char* write_uint64(char* to, uint64_t value);

}  // namespace drover::json
