// The texts of google.protobuf.Timestamp (RFC 3339), Duration ("1.5s") and FieldMask ("a.fooBar,c").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::json {

// Years 0001 to 9999, and nanos of 0 to 999,999,999. Printed in UTC with 0, 3, 6 or 9 digits of a fraction; any offset
// from UTC and 1 to 9 digits are read. False: outside that range, or malformed text.
bool append_timestamp(int64_t seconds, int32_t nanos, std::string* out);
bool read_timestamp(std::string_view text, int64_t* seconds, int32_t* nanos);

// Up to 315,576,000,000 seconds either way; nanos have the seconds' sign.
bool append_duration(int64_t seconds, int32_t nanos, std::string* out);
bool read_duration(std::string_view text, int64_t* seconds, int32_t* nanos);

// One path of a mask, snake_case in the message and camelCase in the text. False if it would not read back the same.
bool append_mask_path(std::string_view path, std::string* out);
bool read_mask_path(std::string_view text, std::string* path);

}  // namespace drover::json
