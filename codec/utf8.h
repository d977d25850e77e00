// UTF-8 validation (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF). Freestanding.
#pragma once

#include <cstddef>

namespace drover {

bool is_valid_utf8(const char* bytes, size_t size);

}  // namespace drover
