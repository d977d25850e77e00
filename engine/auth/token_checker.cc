#include "engine/auth/token_checker.h"

#include <strings.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "channel/identity.h"

namespace drover::engine::auth {
namespace {

// As of a certificate's names (engine/tls/peer_properties.h): each call carries them to its host.
constexpr size_t kMostProperties = 16 << 10;

bool contains(const std::vector<std::string_view>& values, std::string_view one) {
  return std::find(values.begin(), values.end(), one) != values.end();
}

// RFC 7515, section 4.1.9: "application/" may be left out.
bool is_type(std::string_view type, std::string_view wanted) {
  constexpr std::string_view kPrefix = "application/";
  if (type.size() > kPrefix.size() && ::strncasecmp(type.data(), kPrefix.data(), kPrefix.size()) == 0) {
    type.remove_prefix(kPrefix.size());
  }
  return type.size() == wanted.size() && ::strncasecmp(type.data(), wanted.data(), type.size()) == 0;
}

// A claim's value as a text; of an object or a list, nothing.
std::optional<std::string> scalar(const Json& value) {
  switch (value.kind) {
    case Json::Kind::kString:
    case Json::Kind::kNumber:
      return value.text;
    case Json::Kind::kBool:
      return value.boolean ? "true" : "false";
    case Json::Kind::kNull:
    case Json::Kind::kArray:
    case Json::Kind::kObject:
      break;
  }
  return std::nullopt;
}

// The claim's value, or each of its items.
std::vector<std::string> scalars(const Json& claims, std::string_view name) {
  std::vector<std::string> found;
  const Json* claim = claims.find(name);
  if (claim == nullptr) return found;
  if (std::optional<std::string> one = scalar(*claim)) found.push_back(std::move(*one));
  if (!claim->is(Json::Kind::kArray)) return found;
  for (const Json& item : claim->items) {
    if (std::optional<std::string> one = scalar(item)) found.push_back(std::move(*one));
  }
  return found;
}

}  // namespace

TokenChecker::TokenChecker(const Policy& policy, ThreadMetrics& metrics)
    : policy_(policy),
      metrics_(metrics),
      trust_(policy.issuers().trust()),
      cache_(policy.options().cache_bytes),
      verifications_(metrics.counter("drover_auth_verifications_total", "Signatures of tokens that were verified")),
      cache_hits_(metrics.counter("drover_auth_cache_hits_total", "Tokens that were known, and not verified again")),
      cache_bytes_(metrics.gauge("drover_auth_cache_bytes", "Memory of tokens that are known")) {
  for (size_t i = 0; i < kAuthErrors; ++i) {
    results_[i] = metrics.counter("drover_auth_calls_total", "Calls whose token was looked at, by what came of it",
                                  {{"result", auth_error_name(static_cast<AuthError>(i))}});
  }
}

TokenChecker::~TokenChecker() {
  for (const Counter* one : results_) metrics_.remove(one);
  metrics_.remove(verifications_);
  metrics_.remove(cache_hits_);
  metrics_.remove(cache_bytes_);
}

void TokenChecker::renew() {
  if (version() == trust_->version) [[likely]]
    return;
  trust_ = policy_.issuers().trust();
  cache_.clear();
}

TokenChecker::Verdict TokenChecker::check(std::string_view token, const Rule& rule, int64_t now_s, Account* payer,
                                          int64_t now_ns) {
  renew();
  Verdict verdict;
  verdict.version = trust_->version;
  if (token.size() > policy_.options().max_token_bytes) return verdict.error = AuthError::kTooLarge, verdict;
  const TokenCache::Hash hash = TokenCache::hash_of(token);
  std::shared_ptr<const VerifiedToken> known = cache_.find(hash);
  if (known != nullptr && now_s >= known->expires_s) {
    cache_.erase(hash);
    known = nullptr;
    verdict.error = AuthError::kExpired;
  } else if (known != nullptr) {
    cache_hits_->add();
  } else {
    auto verified = std::make_shared<VerifiedToken>();
    verdict.error = verify(token, now_s, payer, now_ns, verified.get());
    if (verdict.error == AuthError::kNone) {
      known = std::move(verified);
      cache_.insert(hash, known);
    }
  }
  cache_bytes_->set(static_cast<int64_t>(cache_.bytes()));
  if (verdict.error == AuthError::kNone) verdict.error = check_rule(rule, *known);
  if (verdict.error == AuthError::kNone) verdict.token = std::move(known);
  return verdict;
}

AuthError TokenChecker::verify(std::string_view text, int64_t now_s, Account* payer, int64_t now_ns,
                               VerifiedToken* out) {
  Token token;
  if (AuthError error = read_token(text, &token); error != AuthError::kNone) return error;
  const Issuer* issuer = trust_->find(token.issuer);
  if (issuer == nullptr) return AuthError::kUnknownIssuer;
  if (!issuer->options.algorithms.has(token.algorithm)) return AuthError::kAlgorithm;
  if (!issuer->options.type.empty() && !is_type(token.type, issuer->options.type)) return AuthError::kType;
  if (AuthError error = check_claims(*issuer, token, now_s); error != AuthError::kNone) return error;
  if (AuthError error = check_signature(*issuer, token, payer, now_ns); error != AuthError::kNone) return error;
  if (!pack_properties(token.claims, &out->properties)) return AuthError::kTooLarge;
  out->issuer = issuer->options.name;
  out->claims = std::move(token.claims);
  out->expires_s = token.expires_s ? *token.expires_s + policy_.options().leeway_s : INT64_MAX;
  return AuthError::kNone;
}

AuthError TokenChecker::check_claims(const Issuer& issuer, const Token& token, int64_t now_s) const {
  const int64_t leeway_s = policy_.options().leeway_s;
  if (token.expires_s && now_s >= *token.expires_s + leeway_s) return AuthError::kExpired;
  if (token.not_before_s && now_s + leeway_s < *token.not_before_s) return AuthError::kNotYetValid;
  const std::vector<std::string>& wanted = issuer.options.audiences;
  const std::vector<std::string_view> audience = texts_of(token.claims, "aud");
  if (!wanted.empty() &&
      std::none_of(wanted.begin(), wanted.end(), [&](const std::string& one) { return contains(audience, one); })) {
    return AuthError::kAudience;
  }
  for (const std::string& name : issuer.options.claims) {
    if (token.claims.find(name) == nullptr) return AuthError::kMissingClaim;
  }
  return AuthError::kNone;
}

AuthError TokenChecker::check_signature(const Issuer& issuer, const Token& token, Account* payer, int64_t now_ns) {
  const std::vector<const Key*> keys = issuer.keys->find(token.algorithm, token.key_id ? &*token.key_id : nullptr);
  if (keys.empty()) return AuthError::kUnknownKey;
  if (payer != nullptr && !payer->spend_verification(now_ns)) return AuthError::kTooMany;
  for (const Key* key : keys) {
    verifications_->add();
    if (!key->verifies(token.algorithm, token.signed_part, token.signature)) continue;
    if (payer != nullptr) payer->give_back_verification();
    return AuthError::kNone;
  }
  return AuthError::kSignature;
}

AuthError TokenChecker::check_rule(const Rule& rule, const VerifiedToken& token) {
  if (!rule.issuers.empty() &&
      std::find(rule.issuers.begin(), rule.issuers.end(), token.issuer) == rule.issuers.end()) {
    return AuthError::kIssuer;
  }
  if (!rule.scopes.empty()) {
    const std::vector<std::string_view> scopes = scopes_of(token.claims);
    for (const std::string& one : rule.scopes) {
      if (!contains(scopes, one)) return AuthError::kScope;
    }
  }
  for (const auto& [name, value] : rule.claims) {
    const std::vector<std::string> found = scalars(token.claims, name);
    if (std::find(found.begin(), found.end(), value) == found.end()) return AuthError::kClaim;
  }
  return AuthError::kNone;
}

bool TokenChecker::pack_properties(const Json& claims, std::string* out) const {
  std::vector<std::pair<std::string, std::string>> properties;
  for (const char* name : {"iss", "sub", "aud", "exp"}) {
    for (std::string& value : scalars(claims, name))
      properties.emplace_back(std::string("jwt_") + name, std::move(value));
  }
  for (std::string_view scope : scopes_of(claims)) properties.emplace_back("jwt_scope", scope);
  for (const std::string& name : policy_.claims()) {
    for (std::string& value : scalars(claims, name)) properties.emplace_back("jwt_" + name, std::move(value));
  }
  *out = pack_identity(properties);
  return out->size() <= kMostProperties;
}

}  // namespace drover::engine::auth
