// Fuzz target: any text as a token. It is read or refused with a reason, within the bounds; one that is read has the
// form that RFC 7515 and 7519 give it, and is not good, since no key has signed it; a different text of the same bytes
// is not read. Seeds: tests/corpus/token_fuzz.
//
// Two in three inputs are three parts, with lines between: they are encoded first, so that changes reach the JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/auth/auth_testing.h"
#include "engine/auth/token_checker.h"

using namespace drover::engine;
using namespace drover::engine::auth;

namespace {

const Policy& policy() {
  static const KeyFile file(jwks(
      {TestKey(KeyKind::kP256).jwk(R"("kid":"1")"), TestKey(KeyKind::kEd25519).jwk(), rsa_key().jwk(R"("kid":"r")")}));
  static const Policy* const made = [] {
    auto* one = new Policy();
    std::string error;
    if (!one->load({.issuers = "main iss=i audiences=* claims=none keys=" + file.path(), .rules = "", .claims = "a"},
                   &error)) {
      std::abort();
    }
    return one;
  }();
  return *made;
}

std::string encoded(std::string_view input) {
  std::string text;
  for (int part = 0; part < 3; ++part) {
    const size_t end = part < 2 ? input.find('\n') : std::string_view::npos;
    text += (part != 0 ? "." : "") + base64url(input.substr(0, end));
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string text = data[0] % 3 == 0 ? std::string(input) : encoded(input);
  Token token;
  const AuthError error = read_token(text, &token);
  if (error == AuthError::kNone) {
    const size_t first = text.find('.'), last = text.rfind('.');
    if (first == std::string::npos || first == last || text.find('.', first + 1) != last) std::abort();
    if (token.signed_part != std::string_view(text).substr(0, last)) std::abort();
    if (base64url(token.signature) != text.substr(last + 1)) std::abort();
    if (token.claims.names.size() != token.claims.items.size()) std::abort();
    if (token.claims.memory() > 64 * text.size() + (64 << 10)) std::abort();
  }
  static ThreadMetrics metrics(0);
  static TokenChecker checker(policy(), metrics);
  static const Rule rule;
  const TokenChecker::Verdict verdict = checker.check(text, rule, 2'000'000'000, nullptr, 0);
  if (verdict.error == AuthError::kNone || verdict.token != nullptr) std::abort();
  return 0;
}
