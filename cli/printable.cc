// Control characters move the cursor, clear lines and name windows: a server could show a success that was none.
#include "cli/printable.h"

#include <algorithm>
#include <cstdint>

#include "codec/utf8.h"

namespace drover::cli {
namespace {

// Bytes of the UTF-8 character that `text` begins with, or 0: it begins with none.
size_t character_size(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return size <= text.size() && is_valid_utf8(text.data(), size) ? size : 0;
}

bool is_control(std::string_view character) {
  const auto lead = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7f;
  return lead == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;  // U+0080 to U+009F
}

void append_hex(char c, std::string* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  *out += kDigits[static_cast<uint8_t>(c) >> 4];
  *out += kDigits[c & 15];
}

// `append`: what is there in place of a control character, or of a byte that is no UTF-8 (`size` is 0 then).
template <typename Append>
std::string escape(std::string_view text, std::string_view kept, Append append) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    text.remove_prefix(character.size());
    if (size != 0 && (!is_control(character) || kept.find(character) != std::string_view::npos)) {
      out += character;
      continue;
    }
    append(character, size, &out);
  }
  return out;
}

void append_bytes(std::string_view character, size_t /*size*/, std::string* out) {
  for (const char c : character) {
    *out += "\\x";
    append_hex(c, out);
  }
}

// The last byte of a control character's UTF-8 is its number.
void append_json(std::string_view character, size_t size, std::string* out) {
  if (size == 0) {
    *out += "\\ufffd";
    return;
  }
  *out += "\\u00";
  append_hex(character.back(), out);
}

}  // namespace

std::string printable(std::string_view text) { return escape(text, "\n\t", append_bytes); }
std::string printable_line(std::string_view text) { return escape(text, "", append_bytes); }
std::string printable_json(std::string_view json) { return escape(json, "", append_json); }

}  // namespace drover::cli
