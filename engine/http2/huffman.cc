#include "engine/http2/huffman.h"

#include <array>
#include <cstdint>

namespace drover::engine::http2 {

namespace {

constexpr int kSymbols = 257;  // the bytes and EOS
constexpr int kEos = 256;
constexpr int kLongest = 30;
constexpr int kLookupBits = 9;

// Bits of each symbol's code: RFC 7541, appendix B.
constexpr std::array<uint8_t, kSymbols> kLengths = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,  5,  5,  5,  6,  6,  6,  6,  6,  6,  6,
    7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
    7,  8,  7,  8,  13, 19, 13, 14, 6,  15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,
    5,  6,  7,  7,  7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24,
    24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22,
    23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26,
    27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23,
    22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30};

struct Code {
  uint32_t bits;  // right-aligned
  uint8_t length;
};

// Codes of one length: they ascend from `first`, and their symbols are `count` neighbours in kTables.by_code.
struct Length {
  uint32_t first = 0;
  uint16_t count = 0;
  uint16_t symbols_at = 0;
};

struct Short {
  uint8_t symbol = 0;
  uint8_t length = 0;  // 0: the code is longer than kLookupBits
};

struct Tables {
  std::array<Code, kSymbols> codes{};
  std::array<uint16_t, kSymbols> by_code{};
  std::array<Length, kLongest + 1> lengths{};
  std::array<Short, 1 << kLookupBits> shorts{};
};

constexpr Tables make_tables() {
  Tables t;
  uint32_t next = 0;
  uint16_t at = 0;
  for (uint8_t length = 1; length <= kLongest; ++length) {
    next <<= 1;
    t.lengths[length] = {next, 0, at};
    for (uint16_t symbol = 0; symbol < kSymbols; ++symbol) {
      if (kLengths[symbol] != length) continue;
      if (length <= kLookupBits) {
        int spread = kLookupBits - length;
        for (uint32_t low = 0; low < (1u << spread); ++low) {
          t.shorts[next << spread | low] = {static_cast<uint8_t>(symbol), length};
        }
      }
      t.codes[symbol] = {next++, length};
      t.by_code[at++] = symbol;
      ++t.lengths[length].count;
    }
  }
  return t;
}

constexpr Tables kTables = make_tables();
static_assert(kTables.codes[kEos].bits == 0x3fffffff, "a complete code ends in all ones");

// The symbol whose code of more than kLookupBits bits `window` (left-aligned) begins with. Its length goes to `length`.
int long_symbol(uint64_t window, int& length) {
  for (length = kLookupBits + 1; length <= kLongest; ++length) {
    const Length& of = kTables.lengths[static_cast<size_t>(length)];
    uint64_t code = window >> (64 - length);
    if (code - of.first < of.count) return kTables.by_code[of.symbols_at + (code - of.first)];
  }
  return kEos;
}

}  // namespace

std::optional<size_t> huffman_decode(std::string_view coded, char* out) {
  char* const begin = out;
  const auto* in = reinterpret_cast<const uint8_t*>(coded.data());
  const uint8_t* const end = in + coded.size();
  uint64_t window = 0;  // the next bits, left-aligned
  int have = 0;
  while (true) {
    while (have <= 56 && in != end) {
      window |= uint64_t{*in++} << (56 - have);
      have += 8;
    }
    Short quick = kTables.shorts[window >> (64 - kLookupBits)];
    int length = quick.length;
    int symbol = quick.symbol;
    if (length == 0) symbol = long_symbol(window, length);
    if (length > have) break;
    if (symbol == kEos) return std::nullopt;
    *out++ = static_cast<char>(symbol);
    window <<= length;
    have -= length;
  }
  // What is left is padding: fewer than eight bits, all ones.
  if (have >= 8) return std::nullopt;
  if (have > 0 && window >> (64 - have) != (uint64_t{1} << have) - 1) return std::nullopt;
  return static_cast<size_t>(out - begin);
}

size_t huffman_encoded_size(std::string_view text) {
  size_t bits = 0;
  for (char c : text) bits += kLengths[static_cast<uint8_t>(c)];
  return (bits + 7) / 8;
}

void append_huffman(std::string_view text, std::string& out) {
  uint64_t window = 0;
  int have = 0;
  for (char c : text) {
    Code code = kTables.codes[static_cast<uint8_t>(c)];
    window = window << code.length | code.bits;
    have += code.length;
    while (have >= 8) {
      have -= 8;
      out.push_back(static_cast<char>(window >> have));
    }
  }
  if (have > 0) out.push_back(static_cast<char>(window << (8 - have) | ((1 << (8 - have)) - 1)));
}

}  // namespace drover::engine::http2
