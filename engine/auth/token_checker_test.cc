#include "engine/auth/token_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "channel/identity.h"
#include "engine/auth/auth_testing.h"

namespace drover::engine::auth {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

constexpr int64_t kNow = 2'000'000'000;  // seconds

class TokenCheckerTest : public testing::Test {
 protected:
  explicit TokenCheckerTest(PolicyOptions options = {}) {
    options.issuers = "main iss=https://id/ audiences=shop,mail keys=" + file_.path();
    if (options.claims.empty()) options.claims = "tenant,admin";
    std::string error;
    EXPECT_TRUE(policy_.load(options, &error)) << error;
    checker_ = std::make_unique<TokenChecker>(policy_, metrics_);
  }

  static std::string claims(const std::string& more = "", int64_t expires_s = kNow + 100) {
    return R"({"iss":"https://id/","sub":"alice","aud":["shop","x"],"exp":)" + std::to_string(expires_s) +
           (more.empty() ? "" : "," + more) + "}";
  }
  std::string token(const std::string& of) const { return key_.token(Algorithm::kEs256, of); }
  TokenChecker::Verdict check(std::string_view text, int64_t now_s = kNow, Account* payer = nullptr) {
    return checker_->check(text, rule_, now_s, payer, 0);
  }
  AuthError error_of(const std::string& text, int64_t now_s = kNow) { return check(text, now_s).error; }
  uint64_t count(const std::string& name) {
    uint64_t sum = 0;
    metrics_.visit([](const MethodMetrics&) {},
                   [&](const ThreadMetrics::Series& one) { sum += one.name == name ? one.counter->value() : 0; });
    return sum;
  }
  uint64_t verifications() { return count("drover_auth_verifications_total"); }

  const TestKey key_{KeyKind::kP256};
  KeyFile file_{jwks({key_.jwk(R"("kid":"1")"), rsa_key().jwk(R"("kid":"r")")})};
  ThreadMetrics metrics_{0};
  Policy policy_;
  Rule rule_;
  std::unique_ptr<TokenChecker> checker_;
};

TEST_F(TokenCheckerTest, AGoodTokenIsTakenWithItsProperties) {
  const auto verdict = check(token(claims(R"("scope":"r w","tenant":"acme","admin":true,"other":"x")")));
  ASSERT_EQ(verdict.error, AuthError::kNone);
  std::vector<std::pair<std::string_view, std::string_view>> properties;
  ASSERT_TRUE(unpack_identity(verdict.token->properties, &properties));
  EXPECT_THAT(properties, testing::ElementsAre(
                              Pair("jwt_iss", "https://id/"), Pair("jwt_sub", "alice"), Pair("jwt_aud", "shop"),
                              Pair("jwt_aud", "x"), Pair("jwt_exp", std::to_string(kNow + 100)), Pair("jwt_scope", "r"),
                              Pair("jwt_scope", "w"), Pair("jwt_tenant", "acme"), Pair("jwt_admin", "true")));
  EXPECT_EQ(verdict.token->expires_s, kNow + 130);
  EXPECT_EQ(verdict.token->issuer, "main");
}

TEST_F(TokenCheckerTest, EachFaultHasItsName) {
  EXPECT_EQ(error_of("nonsense"), AuthError::kMalformed);
  EXPECT_EQ(error_of(token(R"({"iss":"https://other/"})")), AuthError::kUnknownIssuer);
  EXPECT_EQ(error_of(token("{}")), AuthError::kUnknownIssuer);
  EXPECT_EQ(error_of(token(R"({"iss":"https://id/","aud":"shop"})")), AuthError::kMissingClaim);  // no exp
  EXPECT_EQ(error_of(token(R"({"iss":"https://id/","aud":"bank","exp":2000000100})")), AuthError::kAudience);
  EXPECT_EQ(error_of(token(R"({"iss":"https://id/","exp":2000000100})")), AuthError::kAudience);
  EXPECT_EQ(error_of(TestKey(KeyKind::kP256).token(Algorithm::kEs256, claims())), AuthError::kSignature);
  EXPECT_EQ(error_of(key_.token(Algorithm::kEs256, R"({"alg":"ES256","kid":"2"})", claims())), AuthError::kUnknownKey);
  EXPECT_EQ(error_of(key_.token(Algorithm::kEs256, R"({"alg":"ES256","kid":"r"})", claims())), AuthError::kUnknownKey);
  EXPECT_EQ(error_of(key_.token(Algorithm::kEs256, R"({"alg":"ES256","kid":"1"})", claims())), AuthError::kNone);
  EXPECT_EQ(error_of(key_.token(Algorithm::kEs256, R"({"alg":"ES384","kid":"1"})", claims())), AuthError::kUnknownKey);
  const std::string good = token(claims());
  EXPECT_EQ(error_of(good + "A"), AuthError::kSignature);  // of the right form, with a byte behind
}

TEST_F(TokenCheckerTest, ThePublicKeyIsNoSecret) {
  // CVE-2015-9235: HS256, with the PEM or the JWKS of the RSA key as the secret.
  for (const std::string& secret : {rsa_key().pem(), rsa_key().jwk(), rsa_key().jwk(R"("kid":"r")")}) {
    const std::string input = base64url(R"({"alg":"HS256","kid":"r"})") + "." + base64url(claims());
    const std::string forged = input + "." + base64url(TestKey::mac(info_of(Algorithm::kHs256), secret, input));
    EXPECT_EQ(error_of(forged), AuthError::kAlgorithm);
  }
  EXPECT_EQ(verifications(), 0u);
}

TEST_F(TokenCheckerTest, TimesHaveTheLeeway) {
  const std::string text = token(claims(R"("nbf":1999999000)", kNow));
  EXPECT_EQ(error_of(text, kNow + 29), AuthError::kNone);
  EXPECT_EQ(error_of(text, kNow + 30), AuthError::kExpired);  // from the cache
  EXPECT_EQ(error_of(text, kNow + 30), AuthError::kExpired);  // from the token
  EXPECT_EQ(checker_->cache().size(), 0u);
  const std::string later = token(claims(R"("nbf":2000000031)"));
  EXPECT_EQ(error_of(later), AuthError::kNotYetValid);
  EXPECT_EQ(error_of(later, kNow + 1), AuthError::kNone);
}

TEST_F(TokenCheckerTest, AKnownTokenCostsNoSignature) {
  const std::string text = token(claims());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(error_of(text), AuthError::kNone);
  EXPECT_EQ(verifications(), 1u);
  EXPECT_EQ(count("drover_auth_cache_hits_total"), 4u);
  // Another token of the same claims is another one: a hash of the whole text is the key.
  std::string changed = text;
  changed[changed.size() - 10] = changed[changed.size() - 10] == 'A' ? 'B' : 'A';
  EXPECT_EQ(error_of(changed), AuthError::kSignature);
  EXPECT_EQ(verifications(), 2u);
}

TEST_F(TokenCheckerTest, WhatIsCheapIsCheckedBeforeTheSignature) {
  error_of(TestKey(KeyKind::kP256).token(Algorithm::kEs256, claims("", kNow - 1000)));
  error_of(token(R"({"iss":"https://id/","aud":"bank","exp":2000000100})"));
  error_of(std::string(9000, 'x'));
  EXPECT_EQ(verifications(), 0u);
}

TEST_F(TokenCheckerTest, TokensOfAnotherKeyAreRefusedAfterAReload) {
  const std::string text = token(claims());
  EXPECT_EQ(error_of(text), AuthError::kNone);
  const TestKey next(KeyKind::kP256);
  file_.write(jwks({next.jwk(R"("kid":"new")")}));
  policy_.issuers().reload(false);
  EXPECT_EQ(error_of(text), AuthError::kSignature);
  EXPECT_EQ(error_of(next.token(Algorithm::kEs256, claims())), AuthError::kNone);
}

TEST_F(TokenCheckerTest, ARuleAsksForScopesClaimsAndIssuers) {
  const std::string text = token(claims(R"("scope":"r w","tenant":["acme","b"],"level":3)"));
  auto with = [&](const std::string& conditions) {
    Rules rules;
    EXPECT_EQ(Rules::parse("*=require " + conditions, &rules), "");
    rule_ = rules.find("/a.B/C");
    return error_of(text);
  };
  EXPECT_EQ(with("scopes=r,w"), AuthError::kNone);
  EXPECT_EQ(with("scopes=r,x"), AuthError::kScope);
  EXPECT_EQ(with("claims=tenant:acme,level:3"), AuthError::kNone);
  EXPECT_EQ(with("claims=tenant:acme,level:4"), AuthError::kClaim);
  EXPECT_EQ(with("claims=missing:x"), AuthError::kClaim);
  EXPECT_EQ(with("issuers=main"), AuthError::kNone);
  EXPECT_EQ(with("issuers=other"), AuthError::kIssuer);
}

TEST_F(TokenCheckerTest, WrongTokensOfAnAddressAreFew) {
  LedgerLimits limits;
  limits.wrong_token_rate = 160;  // 10 at first
  Ledger ledger(limits, metrics_);
  const AccountRef bad = ledger.open_connection("192.0.2.1"), worse = ledger.open_connection("192.0.2.1"),
                   late = ledger.open_connection("192.0.2.1"), good = ledger.open_connection("192.0.2.2");
  const TestKey stranger(KeyKind::kP256);
  const std::string known = token(claims());
  EXPECT_EQ(check(known, kNow, bad.get()).error, AuthError::kNone);
  for (int i = 0; i < 10; ++i) {
    const AccountRef& one = i < 5 ? bad : worse;
    EXPECT_EQ(check(stranger.token(Algorithm::kEs256, claims(R"("n":)" + std::to_string(i))), kNow, one.get()).error,
              AuthError::kSignature);
  }
  const uint64_t before = verifications();
  EXPECT_EQ(check(stranger.token(Algorithm::kEs256, claims()), kNow, late.get()).error, AuthError::kTooMany);
  EXPECT_EQ(verifications(), before);
  EXPECT_EQ(check(known, kNow, bad.get()).error, AuthError::kNone);
  // Good ones cost nothing of it, and another address is another matter.
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(check(token(claims(R"("n":)" + std::to_string(i))), kNow, good.get()).error, AuthError::kNone);
  }
}

// Several clients behind one proxy have one address.
TEST_F(TokenCheckerTest, WrongTokensOfOneConnectionLeaveHalfOfItsAddressToOthers) {
  LedgerLimits limits;
  limits.wrong_token_rate = 160;  // 10 at first, 5 of a connection
  Ledger ledger(limits, metrics_);
  const AccountRef bad = ledger.open_connection("192.0.2.1"), good = ledger.open_connection("192.0.2.1");
  const TestKey stranger(KeyKind::kP256);
  auto wrong = [&](const AccountRef& from, int number) {
    return check(stranger.token(Algorithm::kEs256, claims(R"("n":)" + std::to_string(number))), kNow, from.get()).error;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(wrong(bad, i), AuthError::kSignature);
  for (int i = 5; i < 20; ++i) EXPECT_EQ(wrong(bad, i), AuthError::kTooMany);
  EXPECT_EQ(check(token(claims()), kNow, bad.get()).error, AuthError::kTooMany) << "it is not known yet";
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(check(token(claims(R"("n":)" + std::to_string(i))), kNow, good.get()).error, AuthError::kNone);
  }
  for (int i = 20; i < 25; ++i) EXPECT_EQ(wrong(good, i), AuthError::kSignature);
  EXPECT_EQ(wrong(good, 25), AuthError::kTooMany);
}

class SmallCache : public TokenCheckerTest {
 protected:
  SmallCache() : TokenCheckerTest({.issuers = "", .rules = "", .claims = "", .cache_bytes = 8 << 10}) {}
};

TEST_F(SmallCache, ForgetsWhatWasNotAskedForTheLongest) {
  const std::string first = token(claims(R"("n":"first")"));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(error_of(token(claims(R"("n":)" + std::to_string(i)))), AuthError::kNone);
    EXPECT_EQ(error_of(first), AuthError::kNone);
    EXPECT_LE(checker_->cache().bytes(), size_t{8} << 10);
  }
  EXPECT_EQ(verifications(), 51u);
  EXPECT_LT(checker_->cache().size(), 51u);
  EXPECT_EQ(error_of(token(claims(R"("n":0)"))), AuthError::kNone);
}

TEST(TokenCheckerOptions, TypesAndClaimsAreTheIssuers) {
  const KeyFile file(rsa_key().pem());
  Policy policy;
  std::string error;
  ASSERT_TRUE(
      policy.load({.issuers = "main iss=i audiences=* typ=at+jwt claims=sub algorithms=PS256 keys=" + file.path(),
                   .rules = "",
                   .claims = ""},
                  &error))
      << error;
  ThreadMetrics metrics(0);
  TokenChecker checker(policy, metrics);
  auto of = [&](Algorithm algorithm, const std::string& type, const std::string& claims) {
    const std::string header = R"({"alg":")" + std::string(info_of(algorithm).name) + R"(","typ":")" + type + R"("})";
    return checker.check(rsa_key().token(algorithm, header, claims), Rule(), kNow, nullptr, 0).error;
  };
  EXPECT_EQ(of(Algorithm::kPs256, "at+jwt", R"({"iss":"i","sub":"x"})"), AuthError::kNone);
  EXPECT_EQ(of(Algorithm::kPs256, "application/AT+JWT", R"({"iss":"i","sub":"x"})"), AuthError::kNone);
  EXPECT_EQ(of(Algorithm::kPs256, "JWT", R"({"iss":"i","sub":"x"})"), AuthError::kType);
  EXPECT_EQ(of(Algorithm::kPs256, "at+jwt", R"({"iss":"i"})"), AuthError::kMissingClaim);
  EXPECT_EQ(of(Algorithm::kRs256, "at+jwt", R"({"iss":"i","sub":"x"})"), AuthError::kAlgorithm);
}

}  // namespace
}  // namespace drover::engine::auth
