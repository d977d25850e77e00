// For the tests that are built twice from one source: against Drover's generated classes (then DROVER_API is defined)
// and against protobuf C++'s. Nothing here may depend on which.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace api {

template <typename T>
T round_trip(const T& message) {
  std::string wire;
  EXPECT_TRUE(message.SerializeToString(&wire));
  T copy;
  EXPECT_TRUE(copy.ParseFromString(wire));
  EXPECT_EQ(copy.ByteSizeLong(), wire.size());
  return copy;
}

// "0a 01" -> the bytes; other characters are skipped.
inline std::string bytes(std::string_view hex) {
  std::string digits, out;
  for (char c : hex) {
    if (std::string_view("0123456789abcdef").find(c) != std::string_view::npos) digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return out;
}
inline std::string hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

}  // namespace api
