// TokenChecker: one engine thread's checks of tokens.
//
//   token --size--> hash --> TokenCache --known---------------------------------------------> rule --> verdict
//                               '--> form, issuer, type, algorithm, times, audience --> key --> signature --^
//
// What costs the least comes first. The signature comes last, and a wrong one is charged to the client's address: one
// whose tokens were wrong too often is refused before it.
// Thread-safety: none; one engine thread. The policy is shared.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/auth/auth_error.h"
#include "engine/auth/policy.h"
#include "engine/auth/token.h"
#include "engine/auth/token_cache.h"
#include "engine/base/account.h"
#include "engine/base/metrics.h"

namespace drover::engine::auth {

class TokenChecker {
 public:
  // Both outlive it.
  TokenChecker(const Policy& policy, ThreadMetrics& metrics);
  ~TokenChecker();
  TokenChecker(const TokenChecker&) = delete;
  TokenChecker& operator=(const TokenChecker&) = delete;

  const Policy& policy() const { return policy_; }
  // Of the keys: what was found with others is to be found anew.
  uint64_t version() const { return policy_.issuers().version(); }

  struct Verdict {
    AuthError error = AuthError::kNone;
    std::shared_ptr<const VerifiedToken> token;  // null: there is an error
    uint64_t version = 0;                        // of the keys
  };
  // `now_s`: seconds since 1970. `payer`: the connection's account, or null; `now_ns`: CLOCK_MONOTONIC.
  Verdict check(std::string_view token, const Rule& rule, int64_t now_s, Account* payer, int64_t now_ns);
  // A call's end of it, for the metrics.
  void count(AuthError result) { results_[static_cast<size_t>(result)]->add(); }
  const TokenCache& cache() const { return cache_; }

 private:
  void renew();
  AuthError verify(std::string_view text, int64_t now_s, Account* payer, int64_t now_ns, VerifiedToken* out);
  AuthError check_claims(const Issuer& issuer, const Token& token, int64_t now_s) const;
  AuthError check_signature(const Issuer& issuer, const Token& token, Account* payer, int64_t now_ns);
  static AuthError check_rule(const Rule& rule, const VerifiedToken& token);
  bool pack_properties(const Json& claims, std::string* out) const;

  const Policy& policy_;
  ThreadMetrics& metrics_;
  std::shared_ptr<const Trust> trust_;
  TokenCache cache_;
  std::array<Counter*, kAuthErrors> results_;
  Counter* const verifications_;
  Counter* const cache_hits_;
  Gauge* const cache_bytes_;
};

}  // namespace drover::engine::auth
