// Bytes as hexadecimal digits, and back.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace drover::testing {

// Bytes by their hexadecimal digits; blanks are skipped.
inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  std::string pair;
  for (char c : digits) {
    if (c == ' ') continue;
    pair += c;
    if (pair.size() == 2) {
      bytes += static_cast<char>(std::stoi(pair, nullptr, 16));
      pair.clear();
    }
  }
  return bytes;
}

inline std::string to_hex(std::string_view bytes) {
  std::string text;
  for (char c : bytes) {
    char pair[4];
    std::snprintf(pair, sizeof(pair), "%02x ", static_cast<unsigned char>(c));
    text += pair;
  }
  return text;
}

}  // namespace drover::testing
