// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash that does not tell its key. Of whole words it makes the
// links' cookies and the keys of their datagrams; of a text, the place of a key that clients choose
// (engine/balance/key_hash.h). Thread-safety: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace drover {

struct SipKey {
  uint64_t first = 0, second = 0;
};

class SipHasher {
 public:
  constexpr explicit SipHasher(const SipKey& key)
      : a_(key.first ^ 0x736f6d6570736575),
        b_(key.second ^ 0x646f72616e646f6d),
        c_(key.first ^ 0x6c7967656e657261),
        d_(key.second ^ 0x7465646279746573) {}
  constexpr void take(uint64_t word) {
    d_ ^= word;
    rounds(2);
    a_ ^= word;
  }
  // `last`: the bytes behind the words, and the size of all in the highest byte.
  constexpr uint64_t end(uint64_t last) {
    take(last);
    c_ ^= 0xff;
    rounds(4);
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  constexpr void rounds(int count) {
    for (; count != 0; --count) {
      a_ += b_, c_ += d_;
      b_ = std::rotl(b_, 13) ^ a_, d_ = std::rotl(d_, 16) ^ c_;
      a_ = std::rotl(a_, 32);
      c_ += b_, a_ += d_;
      b_ = std::rotl(b_, 17) ^ c_, d_ = std::rotl(d_, 21) ^ a_;
      c_ = std::rotl(c_, 32);
    }
  }
  uint64_t a_, b_, c_, d_;
};

// Of the words' bytes, little-endian.
constexpr uint64_t siphash(const SipKey& key, std::initializer_list<uint64_t> words) {
  SipHasher hasher(key);
  for (uint64_t word : words) hasher.take(word);
  return hasher.end(uint64_t{words.size() * 8} << 56);
}

// Of any bytes, on a little-endian machine.
inline uint64_t siphash(const SipKey& key, std::string_view text) {
  SipHasher hasher(key);
  const char* at = text.data();
  size_t left = text.size();
  uint64_t word = 0;
  for (; left >= sizeof word; at += sizeof word, left -= sizeof word) {
    std::memcpy(&word, at, sizeof word);
    hasher.take(word);
  }
  word = 0;
  if (left != 0) std::memcpy(&word, at, left);
  return hasher.end(word | uint64_t{text.size()} << 56);
}

}  // namespace drover
