#include "engine/auth/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/auth/auth_testing.h"

namespace drover::engine::auth {
namespace {

using testing::HasSubstr;
using Need = Rule::Need;

Rules rules_of(std::string_view text) {
  Rules rules;
  EXPECT_EQ(Rules::parse(text, &rules), "");
  return rules;
}

TEST(Rules, TheLongestPatternCountsWhereverItStands) {
  const Rules rules = rules_of("*=optional; /shop.Orders/*=require; /shop.Orders/List=off; /shop.*=off");
  EXPECT_EQ(rules.find("/shop.Orders/List").need, Need::kOff);
  EXPECT_EQ(rules.find("/shop.Orders/ListAll").need, Need::kRequire);
  EXPECT_EQ(rules.find("/shop.Stock/List").need, Need::kOff);
  EXPECT_EQ(rules.find("/mail.Box/List").need, Need::kOptional);
}

TEST(Rules, AMethodThatNoPatternFitsNeedsAToken) {
  EXPECT_EQ(rules_of("").find("/a.B/C").need, Need::kRequire);
  EXPECT_EQ(rules_of("/a.B/C=off").find("/a.B/D").need, Need::kRequire);
  EXPECT_EQ(rules_of("/a.B/C=off").find("").need, Need::kRequire);
}

TEST(Rules, TheExactPathComesBeforeAPatternOfItsLength) {
  const Rules rules = rules_of("/a.B/*=require; /a.B/C=off");
  EXPECT_EQ(rules.find("/a.B/C").need, Need::kOff);
  EXPECT_EQ(rules.find("/a.B/").need, Need::kRequire);
}

TEST(Rules, MayStandOnSeveralLines) {
  const Rules rules = rules_of("\n  /a.B/C=require\n    scopes=r\tclaims=t:x ;\r\n  *=off;\n");
  EXPECT_THAT(rules.find("/a.B/C").scopes, testing::ElementsAre("r"));
  EXPECT_THAT(rules.find("/a.B/C").claims, testing::ElementsAre(testing::Pair("t", "x")));
  EXPECT_EQ(rules.find("/a.B/D").need, Need::kOff);
}

TEST(Rules, ConditionsAreRead) {
  const Rule rule = rules_of("/a.B/*=require scopes=r,w claims=tenant:acme,x:a:b issuers=main").find("/a.B/C");
  EXPECT_THAT(rule.scopes, testing::ElementsAre("r", "w"));
  EXPECT_THAT(rule.issuers, testing::ElementsAre("main"));
  EXPECT_THAT(rule.claims, testing::ElementsAre(testing::Pair("tenant", "acme"), testing::Pair("x", "a:b")));
}

TEST(Rules, WhatIsWrongIsSaid) {
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{{"/a.B/C", "expected PATTERN=require"},
                                                        {"/a.B/C=maybe", "expected PATTERN=require"},
                                                        {"a.B/C=off", "expected /package.Service/Method"},
                                                        {"/a.*/C=off", "expected /package.Service/Method"},
                                                        {"/=off", "expected /package.Service/Method"},
                                                        {"*=off; *=require", "given twice"},
                                                        {"*=off scopes=a", "off looks at no token"},
                                                        {"*=require scope=a", "expected issuers="},
                                                        {"*=require claims=a", "expected claims=NAME:VALUE"},
                                                        {"*=require scopes=", "expected issuers="}}) {
    Rules rules;
    EXPECT_THAT(Rules::parse(text, &rules), HasSubstr(why)) << text;
  }
}

std::string error_of(const std::string& issuers, const std::string& rules = "") {
  Policy policy;
  std::string error;
  EXPECT_FALSE(policy.load({.issuers = issuers, .rules = rules, .claims = ""}, &error));
  return error;
}

TEST(Policy, WhatIsWrongWithIssuersIsSaid) {
  const KeyFile keys(rsa_key().pem());
  const std::string good = "main iss=https://id/ audiences=a keys=" + keys.path();
  EXPECT_THAT(error_of("iss=a"), HasSubstr("begins without a name"));
  EXPECT_THAT(error_of("main keys=x audiences=a"), HasSubstr("no iss="));
  EXPECT_THAT(error_of("main iss=x audiences=a"), HasSubstr("no keys=FILE"));
  EXPECT_THAT(error_of("main iss=x keys=y"), HasSubstr("no audiences="));
  EXPECT_THAT(error_of(good + " algorithms=none"), HasSubstr("'none' is not one of: RS256"));
  EXPECT_THAT(error_of(good + " algorithms=rs256"), HasSubstr("'rs256' is not one of"));
  EXPECT_THAT(error_of(good + " algorithms=ES256"), HasSubstr("fits the issuer's algorithms"));
  EXPECT_THAT(error_of(good + " colour=red"), HasSubstr("'colour': expected iss="));
  EXPECT_THAT(error_of(good + "; " + good), HasSubstr("given twice"));
  EXPECT_THAT(error_of(good + "; other" + good.substr(4)), HasSubstr("two have the iss"));
  EXPECT_THAT(error_of("main iss=x audiences=a keys=/nowhere"), HasSubstr("/nowhere: No such file"));
  EXPECT_THAT(error_of(good, "*=require issuers=mian"), HasSubstr("there is no issuer 'mian'"));
  EXPECT_THAT(error_of("", "*=require"), HasSubstr("there are no auth.issuers"));
}

TEST(Policy, NothingConfiguredIsOff) {
  Policy policy;
  std::string error;
  EXPECT_TRUE(policy.load({}, &error)) << error;
  EXPECT_FALSE(policy.on());
}

TEST(Issuers, AChangedFileIsReadAgainAndAWrongOneIsNot) {
  const TestKey one(KeyKind::kP256), two(KeyKind::kP256);
  KeyFile file(jwks({one.jwk(R"("kid":"1")")}));
  Issuers issuers;
  std::string error;
  ASSERT_TRUE(issuers.load("main iss=i audiences=* keys=" + file.path(), &error)) << error;
  const uint64_t first = issuers.version();
  auto kid = [&] { return issuers.trust()->find("i")->keys->find(Algorithm::kEs256, nullptr).at(0)->id; };
  issuers.reload(false);
  EXPECT_EQ(issuers.version(), first);  // nothing has changed
  file.write("nonsense");
  issuers.reload(false);
  EXPECT_EQ(issuers.version(), first);
  EXPECT_EQ(kid(), "1");
  file.write(jwks({two.jwk(R"("kid":"two")")}));
  issuers.reload(false);
  EXPECT_GT(issuers.version(), first);
  EXPECT_EQ(issuers.trust()->version, issuers.version());
  EXPECT_EQ(kid(), "two");
}

}  // namespace
}  // namespace drover::engine::auth
