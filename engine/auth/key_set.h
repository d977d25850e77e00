// The keys that an issuer signs with, from a file: a JWKS (RFC 7517, 7518, 8037), or PEM with public keys and
// certificates. Immutable; thread-safe.
//
// A key fits the algorithms of its kind only, and of those what its own `alg` says. At most two keys may fit one token,
// the old and the new one of a change of keys that has no `kid`: that bounds what a forged token costs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/auth/algorithm.h"

struct evp_pkey_st;

namespace drover::engine::auth {

class Key {
 public:
  // Of a public key, which it owns from now on.
  Key(KeyKind kind, evp_pkey_st* key) : kind_(kind), key_(key) {}
  // Of a secret of at least 32 bytes.
  explicit Key(std::string secret) : kind_(KeyKind::kSecret), secret_(std::move(secret)) {}
  ~Key();
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  KeyKind kind() const { return kind_; }
  bool fits(Algorithm algorithm) const;
  // Whether that is the signature of `input`. Costs 10 to 500 us by algorithm (docs/tokens.md).
  bool verifies(Algorithm algorithm, std::string_view input, std::string_view signature) const;

  std::string id;                 // its `kid`; empty: none
  std::optional<Algorithm> only;  // its `alg`

 private:
  bool verifies_mac(const AlgorithmInfo& algorithm, std::string_view input, std::string_view signature) const;

  const KeyKind kind_;
  evp_pkey_st* const key_ = nullptr;
  std::string secret_;
};

class KeySet {
 public:
  static constexpr size_t kMaxFile = 1 << 20;  // bytes
  static constexpr size_t kMaxKeys = 64;
  static constexpr size_t kMostTries = 2;  // keys that may fit one token

  // `text` of a file. Keys that fit no algorithm of `allowed` are left out. Null: `error` says what is wrong, in a
  // sentence without secrets.
  static std::shared_ptr<const KeySet> read(std::string_view text, Algorithms allowed, std::string* error);

  // Those that may have signed a token of that algorithm and `kid` (null: it has none), at most kMostTries; none where
  // more would fit.
  std::vector<const Key*> find(Algorithm algorithm, const std::string* id) const;
  size_t size() const { return keys_.size(); }
  // Keys of the file that are of no use here, such as those for encryption.
  size_t left_out() const { return left_out_; }
  bool has_secret() const;

 private:
  bool read_jwks(std::string_view text, Algorithms allowed, std::string* error);
  bool read_pem(std::string_view text, Algorithms allowed, std::string* error);
  bool add(std::unique_ptr<Key> key, Algorithms allowed, std::string* error);
  bool check_tries(std::string* error) const;

  std::vector<std::unique_ptr<Key>> keys_;
  size_t left_out_ = 0;
};

}  // namespace drover::engine::auth
