// The signature algorithms of tokens (RFC 7518, section 3; EdDSA: RFC 8037), each bound to one kind of key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace drover::engine::auth {

enum class Algorithm : uint8_t {
  kRs256,
  kRs384,
  kRs512,
  kPs256,
  kPs384,
  kPs512,
  kEs256,
  kEs384,
  kEdDsa,
  kHs256,
  kHs384,
  kHs512
};

enum class KeyKind : uint8_t { kRsa, kP256, kP384, kEd25519, kSecret };
const char* key_kind_name(KeyKind kind);

struct AlgorithmInfo {
  Algorithm id;
  std::string_view name;  // of the header's `alg`
  KeyKind key;
  const char* digest;  // OpenSSL's name; null: the algorithm has its own
  bool pss;
  size_t signature;  // bytes; 0: as many as the key's modulus
};
// In the order of Algorithm.
std::span<const AlgorithmInfo> all_algorithms();
const AlgorithmInfo& info_of(Algorithm algorithm);
// Case counts. Nothing: none of these; so is "none".
std::optional<Algorithm> find_algorithm(std::string_view name);

// Some of them.
class Algorithms {
 public:
  Algorithms() = default;
  bool has(Algorithm one) const { return (bits_ & bit(one)) != 0; }
  void add(Algorithm one) { bits_ |= bit(one); }
  bool empty() const { return bits_ == 0; }
  // All whose keys are public.
  static Algorithms asymmetric();

 private:
  static uint32_t bit(Algorithm one) { return uint32_t{1} << static_cast<unsigned>(one); }
  uint32_t bits_ = 0;
};

}  // namespace drover::engine::auth
