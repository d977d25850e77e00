#include "engine/auth/base64url.h"

#include <array>
#include <cstdint>

namespace drover::engine::auth {
namespace {

constexpr uint8_t kNone = 0xff;

constexpr std::array<uint8_t, 256> make_values() {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<uint8_t, 256> values{};
  values.fill(kNone);
  for (size_t i = 0; i < kAlphabet.size(); ++i) values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return values;
}
constexpr std::array<uint8_t, 256> kValues = make_values();

}  // namespace

bool decode_base64url(std::string_view text, std::string* out) {
  out->clear();
  if (text.size() % 4 == 1) return false;
  out->reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const uint8_t value = kValues[static_cast<uint8_t>(c)];
    if (value == kNone) return false;
    bits = bits << 6 | value;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out->push_back(static_cast<char>(bits >> have));
    bits &= (1u << have) - 1;
  }
  return bits == 0;
}

}  // namespace drover::engine::auth
