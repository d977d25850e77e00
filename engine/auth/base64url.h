// base64url without padding (RFC 4648, section 5; RFC 7515, section 2), canonical: one text for any bytes, so that a
// signature has no second spelling.
#pragma once

#include <string>
#include <string_view>

namespace drover::engine::auth {

// False: another character, a length that cannot be, or bits that belong to no byte.
bool decode_base64url(std::string_view text, std::string* out);

}  // namespace drover::engine::auth
