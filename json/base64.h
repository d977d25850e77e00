// Base64 (RFC 4648) of bytes fields: written in the standard alphabet with padding; read in the standard or the
// URL-safe one, with or without padding.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace drover::json {

void append_base64(std::string_view bytes, std::string* out);

// The largest number of bytes that `text` can encode; -1 if its length is impossible.
ptrdiff_t base64_decoded_size(std::string_view text);
// Writes exactly base64_decoded_size(text) bytes to `to`; false on a character outside the alphabets.
bool decode_base64(std::string_view text, char* to);

}  // namespace drover::json
