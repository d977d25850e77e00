#include "text/escapes.h"

#include <algorithm>
#include <cstdint>

namespace drover::text {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The number that up to `most` digits of `base` at *p make; *p moves behind them.
uint32_t read_digits(const char** p, const char* end, int base, int most) {
  uint32_t value = 0;
  for (int i = 0; i < most && *p < end; ++i, ++*p) {
    const int digit = hex_digit(**p);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
  }
  return value;
}

bool all_hex(const char* p, const char* end, int digits) {
  if (end - p < digits) return false;
  return std::all_of(p, p + digits, [](char c) { return hex_digit(c) >= 0; });
}

void append_utf8(uint32_t code, std::string* out) {
  auto byte = [out](uint32_t value) { *out += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

bool is_code_point(uint32_t value) { return value <= 0x10ffff && (value < 0xd800 || value >= 0xe000); }

char simple_escape(char letter) {
  switch (letter) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return letter;
  }
}

}  // namespace

const char* escape_end(const char* p, const char* end) {
  if (end - p < 2) return nullptr;
  const char letter = p[1];
  if (std::string_view("abfnrtv\\?'\"").find(letter) != std::string_view::npos || is_octal(letter)) return p + 2;
  switch (letter) {
    case 'x':
    case 'X':
      return all_hex(p + 2, end, 1) ? p + 3 : nullptr;
    case 'u':
    case 'U': {
      const int count = letter == 'u' ? 4 : 8;
      if (!all_hex(p + 2, end, count)) return nullptr;
      const char* digits = p + 2;
      return is_code_point(read_digits(&digits, end, 16, count)) ? digits : nullptr;
    }
    default:
      return nullptr;
  }
}

void append_unescaped(std::string_view quoted, std::string* out) {
  const char *p = quoted.data(), *end = p + quoted.size();
  while (p < end) {
    const char* plain = std::find(p, end, '\\');
    out->append(p, plain);
    if (plain == end) return;
    p = plain + 1;
    if (is_octal(*p)) {
      *out += static_cast<char>(read_digits(&p, end, 8, 3));
    } else if (*p == 'x' || *p == 'X') {
      ++p;
      *out += static_cast<char>(read_digits(&p, end, 16, 2));
    } else if (*p == 'u' || *p == 'U') {
      const int count = *p++ == 'u' ? 4 : 8;
      append_utf8(read_digits(&p, end, 16, count), out);
    } else {
      *out += simple_escape(*p++);
    }
  }
}

}  // namespace drover::text
