// A token as its bearer sent it: a JWS in compact form (RFC 7515, section 7.1) whose payload is a set of claims
// (RFC 7519). Reading it says nothing about who made it.
//
// The work is bounded by the token's size, which the caller bounds; the JSON of both parts has bounds of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/auth/algorithm.h"
#include "engine/auth/auth_error.h"
#include "engine/auth/json.h"

namespace drover::engine::auth {

inline constexpr JsonLimits kHeaderLimits{2048, 4, 64};
inline constexpr JsonLimits kClaimsLimits{64 << 10, 8, 512};

struct Token {
  Algorithm algorithm = Algorithm::kRs256;
  std::optional<std::string> key_id;  // `kid`
  std::string type;                   // `typ`
  std::string issuer;                 // `iss`
  Json claims;
  std::string_view signed_part;  // of the text: header and payload as they were signed
  std::string signature;

  // The times of RFC 7519, section 4.1, in seconds since 1970, rounded to whole ones against the bearer.
  std::optional<int64_t> expires_s, not_before_s;
};

// `text` outlives `out`. kNone: what RFC 7515 and 7519 fix of its form holds, and its claims have their types.
AuthError read_token(std::string_view text, Token* out);

// The values of a claim that is a text or a list of texts, such as `aud`; empty: none, or of another type.
std::vector<std::string_view> texts_of(const Json& claims, std::string_view name);
// The scopes of `scope`, a list with spaces between (RFC 8693, section 4.2), or without it of `scp`.
std::vector<std::string_view> scopes_of(const Json& claims);

}  // namespace drover::engine::auth
