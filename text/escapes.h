// The escapes of strings in the text format: \n and the like, octal, hexadecimal and Unicode ones.
#pragma once

#include <string>
#include <string_view>

namespace drover::text {

// The end of the escape whose backslash stands at p; null if it is none. Of octal and hexadecimal digits it checks the
// first, since all others that follow belong to it or stand for themselves. Surrogates are no code points.
const char* escape_end(const char* p, const char* end);

// Appends `quoted`, the content between a string's quotes, whose escapes are all good. A code point from \u or \U is
// written in UTF-8.
void append_unescaped(std::string_view quoted, std::string* out);

}  // namespace drover::text
