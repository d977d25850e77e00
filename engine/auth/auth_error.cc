#include "engine/auth/auth_error.h"

#include <array>

namespace drover::engine::auth {
namespace {

struct Text {
  const char* name;
  const char* text;
};
constexpr std::array<Text, kAuthErrors> kTexts = {{
    {"accepted", "the token is good"},
    {"no_token", "the method needs a token (authorization: Bearer ...)"},
    {"cleartext", "a token over a connection without TLS is not taken"},
    {"malformed", "the token is malformed"},
    {"too_large", "the token is too large"},
    {"algorithm", "the token's algorithm is not allowed"},
    {"critical", "the token asks for an extension that is not supported"},
    {"type", "the token is of another type"},
    {"unknown_issuer", "the token's issuer is not known"},
    {"unknown_key", "the token's key is not known"},
    {"signature", "the token's signature is wrong"},
    {"expired", "the token has expired"},
    {"not_yet_valid", "the token is not valid yet"},
    {"audience", "the token is for another audience"},
    {"missing_claim", "the token lacks a claim, or has one of a wrong type"},
    {"scope", "the token lacks a scope that the method needs"},
    {"claim", "the token lacks a claim that the method needs"},
    {"issuer", "the method takes no tokens of this issuer"},
    {"too_many", "too many wrong tokens have come from this address"},
}};

}  // namespace

const char* auth_error_name(AuthError error) { return kTexts[static_cast<size_t>(error)].name; }
const char* auth_error_text(AuthError error) { return kTexts[static_cast<size_t>(error)].text; }

}  // namespace drover::engine::auth
