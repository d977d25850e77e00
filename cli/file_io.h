// Reads and writes whole files; "-" is stdin or stdout. Errors are sentences with the path and the system's reason.
#pragma once

#include <string>
#include <string_view>

namespace drover::cli {

// Returns an empty string, or what went wrong.
std::string read_file(const std::string& path, std::string* out);
std::string write_file(const std::string& path, std::string_view bytes);
// Makes the directory and those above it.
std::string make_directory(const std::string& path);

// Hexadecimal digits, two a byte; blanks and line ends are skipped. False: another character was found.
bool from_hex(std::string_view text, std::string* bytes);
std::string to_hex(std::string_view bytes);
// Base64 of RFC 4648, section 4. Padding may be absent when it is read. False: other characters, or a wrong length.
bool from_base64(std::string_view text, std::string* bytes);
std::string to_base64(std::string_view bytes);

}  // namespace drover::cli
