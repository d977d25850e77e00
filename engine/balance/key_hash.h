// The hash of keys that clients choose. Without the seed a client cannot find keys that meet at one host.
//
// On the way of each call that is spread by a hash: OpenSSL's EVP_MAC, which takes a context for each text, is not for
// it. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "datagram/siphash.h"

namespace drover::engine {

using HashSeed = SipKey;

inline uint64_t key_hash(const HashSeed& seed, std::string_view text) { return siphash(seed, text); }
inline uint64_t key_hash(const HashSeed& seed, uint64_t number) { return siphash(seed, {number}); }

// Of a text of any size: its first kMostHashed bytes and its size.
inline constexpr size_t kMostHashed = 4096;
inline uint64_t bounded_key_hash(const HashSeed& seed, std::string_view text) {
  const uint64_t hash = key_hash(seed, text.substr(0, kMostHashed));
  return text.size() <= kMostHashed ? hash : siphash(seed, {hash, text.size()});
}

}  // namespace drover::engine
