// Why a call's token is not taken: the class of the fault, which its client is told, and never what a token or a key
// holds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover::engine::auth {

enum class AuthError : uint8_t {
  kNone,
  kNoToken,        // the call has none, and needs one
  kCleartext,      // it came over a connection without TLS from another machine
  kMalformed,      // it is no JWS in compact form with a JSON object of claims
  kTooLarge,       // auth.max_token_bytes, or JSON beyond the bounds
  kAlgorithm,      // not one that the issuer may use; "none" is never one
  kCritical,       // its header asks for an extension (`crit`, `b64`)
  kType,           // not the issuer's `typ`
  kUnknownIssuer,  // of `iss`
  kUnknownKey,     // no key of the issuer, or too many, fit its `alg` and `kid`
  kSignature,
  kExpired,
  kNotYetValid,
  kAudience,
  kMissingClaim,  // one that the issuer's tokens must have, or one of another type than RFC 7519 says
  kScope,         // PERMISSION_DENIED, as the rest: the token is good, and not for this method
  kClaim,
  kIssuer,
  kTooMany,  // RESOURCE_EXHAUSTED: too many wrong tokens of this address
};
inline constexpr size_t kAuthErrors = static_cast<size_t>(AuthError::kTooMany) + 1;

// "expired": in messages and in the metric.
const char* auth_error_name(AuthError error);
// For people: "the token has expired".
const char* auth_error_text(AuthError error);

}  // namespace drover::engine::auth
