// SipHash-2-4 (Aumasson and Bernstein, 2012) of whole words: a keyed hash that does not tell its key. It makes the
// links' cookies and the keys of their datagrams. Thread-safety: pure function.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace drover {

struct SipKey {
  uint64_t first = 0, second = 0;
};

// Of the words' bytes, little-endian.
constexpr uint64_t siphash(const SipKey& key, std::initializer_list<uint64_t> words) {
  uint64_t a = key.first ^ 0x736f6d6570736575, b = key.second ^ 0x646f72616e646f6d;
  uint64_t c = key.first ^ 0x6c7967656e657261, d = key.second ^ 0x7465646279746573;
  auto rounds = [&](int count) {
    for (; count != 0; --count) {
      a += b, c += d;
      b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b, a += d;
      b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  };
  auto take = [&](uint64_t word) {
    d ^= word;
    rounds(2);
    a ^= word;
  };
  for (uint64_t word : words) take(word);
  take(uint64_t{words.size() * 8} << 56);
  c ^= 0xff;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace drover
