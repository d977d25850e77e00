#include "json/base64.h"

#include <array>
#include <cstdint>

namespace drover::json {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kBad = 0x80000000;

constexpr std::array<uint32_t, 256> kValues = [] {
  std::array<uint32_t, 256> values{};
  for (uint32_t& value : values) value = kBad;
  for (uint32_t i = 0; i < 64; ++i) values[static_cast<unsigned char>(kAlphabet[i])] = i;
  values[static_cast<unsigned char>('-')] = 62;
  values[static_cast<unsigned char>('_')] = 63;
  return values;
}();

uint32_t value_of(char c) { return kValues[static_cast<unsigned char>(c)]; }

// Without the padding; only as much as the length requires is removed.
std::string_view unpadded(std::string_view text) {
  if (text.size() % 4 != 0 || text.empty()) return text;
  if (text.back() == '=') text.remove_suffix(1);
  if (text.back() == '=') text.remove_suffix(1);
  return text;
}

}  // namespace

void append_base64(std::string_view bytes, std::string* out) {
  const size_t old = out->size();
  out->resize(old + (bytes.size() + 2) / 3 * 4);
  char* to = out->data() + old;
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 3; left -= 3, p += 3, to += 4) {
    const uint32_t word = uint32_t{p[0]} << 16 | uint32_t{p[1]} << 8 | p[2];
    to[0] = kAlphabet[word >> 18];
    to[1] = kAlphabet[word >> 12 & 63];
    to[2] = kAlphabet[word >> 6 & 63];
    to[3] = kAlphabet[word & 63];
  }
  if (left == 0) return;
  const uint32_t word = uint32_t{p[0]} << 16 | (left == 2 ? uint32_t{p[1]} << 8 : 0);
  to[0] = kAlphabet[word >> 18];
  to[1] = kAlphabet[word >> 12 & 63];
  to[2] = left == 2 ? kAlphabet[word >> 6 & 63] : '=';
  to[3] = '=';
}

ptrdiff_t base64_decoded_size(std::string_view text) {
  const size_t digits = unpadded(text).size();
  if (digits % 4 == 1) return -1;
  return static_cast<ptrdiff_t>(digits / 4 * 3 + (digits % 4 == 0 ? 0 : digits % 4 - 1));
}

bool decode_base64(std::string_view text, char* to) {
  text = unpadded(text);
  const char* p = text.data();
  size_t left = text.size();
  uint32_t all = 0;
  for (; left >= 4; left -= 4, p += 4, to += 3) {
    const uint32_t word = value_of(p[0]) << 18 | value_of(p[1]) << 12 | value_of(p[2]) << 6 | value_of(p[3]);
    all |= value_of(p[0]) | value_of(p[1]) | value_of(p[2]) | value_of(p[3]);
    to[0] = static_cast<char>(word >> 16);
    to[1] = static_cast<char>(word >> 8);
    to[2] = static_cast<char>(word);
  }
  if (left >= 2) {
    const uint32_t third = left == 3 ? value_of(p[2]) : 0;
    const uint32_t word = value_of(p[0]) << 18 | value_of(p[1]) << 12 | third << 6;
    all |= value_of(p[0]) | value_of(p[1]) | third;
    to[0] = static_cast<char>(word >> 16);
    if (left == 3) to[1] = static_cast<char>(word >> 8);
  }
  return (all & kBad) == 0;
}

}  // namespace drover::json
