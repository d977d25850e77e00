// Tokens that were verified, by a hash of the whole text, so that one costs a signature once. Holds so many bytes, and
// forgets what was not asked for the longest. Only tokens that a trusted issuer signed come in.
// Thread-safety: none; one engine thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/auth/json.h"

namespace drover::engine::auth {

// A token whose signature, issuer, audience and times were found good. Immutable.
struct VerifiedToken {
  size_t memory() const { return sizeof(*this) + claims.memory() + properties.capacity() + issuer.capacity(); }
  std::string issuer;  // by its name in the configuration
  Json claims;
  std::string properties;  // for the host, packed (channel/identity.h)
  int64_t expires_s = 0;   // it is refused from then on, seconds since 1970; INT64_MAX: never
};

class TokenCache {
 public:
  using Hash = std::array<unsigned char, 32>;  // SHA-256
  static Hash hash_of(std::string_view token);

  explicit TokenCache(size_t most) : most_(most) {}

  // Null: not known.
  std::shared_ptr<const VerifiedToken> find(const Hash& hash);
  void insert(const Hash& hash, std::shared_ptr<const VerifiedToken> token);
  void erase(const Hash& hash);
  void clear();
  size_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Hash hash;
    std::shared_ptr<const VerifiedToken> token;
    size_t bytes;
  };
  struct HashHash {
    size_t operator()(const Hash& hash) const {
      size_t first;
      std::memcpy(&first, hash.data(), sizeof first);
      return first;
    }
  };
  using Place = std::list<Entry>::iterator;
  void remove(Place place);

  const size_t most_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // the last one that was asked for first
  std::unordered_map<Hash, Place, HashHash> places_;
};

}  // namespace drover::engine::auth
