#include "engine/auth/algorithm.h"

#include <array>

namespace drover::engine::auth {
namespace {

using enum Algorithm;
constexpr std::array<AlgorithmInfo, 12> kAll = {{
    {kRs256, "RS256", KeyKind::kRsa, "SHA256", false, 0},
    {kRs384, "RS384", KeyKind::kRsa, "SHA384", false, 0},
    {kRs512, "RS512", KeyKind::kRsa, "SHA512", false, 0},
    {kPs256, "PS256", KeyKind::kRsa, "SHA256", true, 0},
    {kPs384, "PS384", KeyKind::kRsa, "SHA384", true, 0},
    {kPs512, "PS512", KeyKind::kRsa, "SHA512", true, 0},
    {kEs256, "ES256", KeyKind::kP256, "SHA256", false, 64},
    {kEs384, "ES384", KeyKind::kP384, "SHA384", false, 96},
    {kEdDsa, "EdDSA", KeyKind::kEd25519, nullptr, false, 64},
    {kHs256, "HS256", KeyKind::kSecret, "SHA256", false, 32},
    {kHs384, "HS384", KeyKind::kSecret, "SHA384", false, 48},
    {kHs512, "HS512", KeyKind::kSecret, "SHA512", false, 64},
}};

}  // namespace

const char* key_kind_name(KeyKind kind) {
  switch (kind) {
    case KeyKind::kRsa:
      return "RSA";
    case KeyKind::kP256:
      return "P-256";
    case KeyKind::kP384:
      return "P-384";
    case KeyKind::kEd25519:
      return "Ed25519";
    case KeyKind::kSecret:
      return "secret";
  }
  return "?";
}

std::span<const AlgorithmInfo> all_algorithms() { return kAll; }

const AlgorithmInfo& info_of(Algorithm algorithm) { return kAll[static_cast<size_t>(algorithm)]; }

std::optional<Algorithm> find_algorithm(std::string_view name) {
  for (const AlgorithmInfo& one : kAll) {
    if (one.name == name) return one.id;
  }
  return std::nullopt;
}

Algorithms Algorithms::asymmetric() {
  Algorithms all;
  for (const AlgorithmInfo& one : kAll) {
    if (one.key != KeyKind::kSecret) all.add(one.id);
  }
  return all;
}

}  // namespace drover::engine::auth
