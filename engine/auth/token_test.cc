#include "engine/auth/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/auth/auth_testing.h"

namespace drover::engine::auth {
namespace {

using testing::ElementsAre;

constexpr const char* kHeader = R"({"alg":"RS256"})";

std::string text_of(const std::string& header, const std::string& claims, const std::string& signature = "sig0") {
  return base64url(header) + "." + base64url(claims) + "." + signature;
}

AuthError error_of(const std::string& text) {
  Token token;
  return read_token(text, &token);
}

TEST(Token, TheExampleOfRfc7519IsRead) {  // section 3.1
  const std::string text =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  Token token;
  ASSERT_EQ(read_token(text, &token), AuthError::kNone);
  EXPECT_EQ(token.algorithm, Algorithm::kHs256);
  EXPECT_EQ(token.type, "JWT");
  EXPECT_EQ(token.issuer, "joe");
  EXPECT_EQ(token.expires_s, 1300819380);
  EXPECT_FALSE(token.not_before_s.has_value());
  EXPECT_TRUE(token.claims.find("http://example.com/is_root")->boolean);
  EXPECT_EQ(token.signed_part, text.substr(0, text.rfind('.')));
  EXPECT_EQ(token.signature.size(), 32u);
}

TEST(Token, ItsFormIsStrict) {
  const std::string good = text_of(kHeader, R"({"iss":"i"})");
  EXPECT_EQ(error_of(good), AuthError::kNone);
  const std::string header = base64url(kHeader), claims = base64url(R"({"iss":"i"})");
  for (const std::string& text : {std::string(),
                                  std::string("."),
                                  std::string(".."),
                                  std::string("..."),
                                  header,
                                  header + "." + claims,
                                  header + "." + claims + ".",
                                  header + ".." + "sig0",
                                  "." + claims + ".sig0",
                                  good + ".",
                                  good + ".more",
                                  header + "." + claims + ".sig0.a.b" /* five parts: encrypted */,
                                  good + "=",
                                  good + " ",
                                  " " + good,
                                  good + "\n",
                                  good + "!",
                                  header + "=." + claims + ".sig0",
                                  header + "." + claims + ".sig01" /* 1 of 4 */,
                                  header + "." + claims + ".sh" /* bits that belong to no byte */,
                                  text_of("[]", "{}"),
                                  text_of(kHeader, "[]"),
                                  text_of(kHeader, "text"),
                                  text_of(kHeader, ""),
                                  text_of("{", "{}"),
                                  text_of(kHeader, "{} {}"),
                                  text_of(kHeader, std::string("{}\0", 3)),
                                  text_of(R"({"typ":"JWT"})", "{}"),
                                  text_of(R"({"alg":1})", "{}"),
                                  text_of(R"({"alg":"RS256","kid":1})", "{}"),
                                  text_of(R"({"alg":"RS256","typ":{}})", "{}")}) {
    EXPECT_EQ(error_of(text), AuthError::kMalformed) << text;
  }
}

TEST(Token, NoneAndUnknownAlgorithmsAreNotRead) {
  for (const char* name : {"none", "None", "NONE", "nOnE", "", "rs256", "RS256 ", "ES512", "RSA1_5", "HS1"}) {
    EXPECT_EQ(error_of(text_of(R"({"alg":")" + std::string(name) + R"("})", "{}")), AuthError::kAlgorithm) << name;
  }
  // An unsecured JWS has an empty signature (RFC 7515, appendix A.5).
  EXPECT_EQ(error_of("eyJhbGciOiJub25lIn0.e30."), AuthError::kMalformed);
}

TEST(Token, NamesAreThereOnce) {
  EXPECT_EQ(error_of(text_of(R"({"alg":"RS256","alg":"RS256"})", "{}")), AuthError::kMalformed);
  EXPECT_EQ(error_of(text_of(kHeader, R"({"sub":"a","sub":"b"})")), AuthError::kMalformed);
  EXPECT_EQ(error_of(text_of(kHeader, R"({"sub":"a","s\u0075b":"b"})")), AuthError::kMalformed);
}

TEST(Token, ExtensionsThatMustBeUnderstoodAreNot) {
  EXPECT_EQ(error_of(text_of(R"({"alg":"RS256","crit":["exp"],"exp":1})", "{}")), AuthError::kCritical);
  EXPECT_EQ(error_of(text_of(R"({"alg":"RS256","crit":[]})", "{}")), AuthError::kCritical);
  EXPECT_EQ(error_of(text_of(R"({"alg":"RS256","b64":false})", "{}")), AuthError::kCritical);
}

TEST(Token, ClaimsHaveTheirTypes) {
  for (const char* claims : {R"({"exp":"1"})", R"({"exp":null})", R"({"nbf":true})", R"({"iss":1})", R"({"sub":{}})",
                             R"({"aud":1})", R"({"aud":["a",1]})", R"({"jti":2})", R"({"scope":["a"]})"}) {
    EXPECT_EQ(error_of(text_of(kHeader, claims)), AuthError::kMissingClaim) << claims;
  }
}

TEST(Token, TimesAreRoundedAgainstTheBearer) {
  Token token;
  const std::string text = text_of(kHeader, R"({"exp":10.9,"nbf":10.1})");
  ASSERT_EQ(read_token(text, &token), AuthError::kNone);
  EXPECT_EQ(token.expires_s, 10);
  EXPECT_EQ(token.not_before_s, 11);
  const std::string far = text_of(kHeader, R"({"exp":1e300,"nbf":-1e300})");
  Token other;
  ASSERT_EQ(read_token(far, &other), AuthError::kNone);
  EXPECT_GT(*other.expires_s, int64_t{1} << 40);
  EXPECT_LT(*other.not_before_s, -(int64_t{1} << 40));
}

TEST(Token, ItsJsonIsBounded) {
  std::string deep = R"({"a":)", many = R"({"a":[0)", wide = "{";
  for (int i = 0; i < 9; ++i) deep += '[';
  for (int i = 0; i < 600; ++i) many += ",0";
  for (int i = 0; i < 130; ++i) wide += (i != 0 ? "," : "") + ("\"" + std::to_string(i)) + "\":0";
  EXPECT_EQ(error_of(text_of(kHeader, deep)), AuthError::kTooLarge);
  EXPECT_EQ(error_of(text_of(kHeader, many + "]}")), AuthError::kTooLarge);
  EXPECT_EQ(error_of(text_of(kHeader, wide + "}")), AuthError::kTooLarge);
  EXPECT_EQ(error_of(text_of(R"({"alg":"RS256","x":")" + std::string(4000, 'x') + "\"}", "{}")), AuthError::kTooLarge);
}

TEST(Token, AudiencesAndScopesAreListsOfTexts) {
  Json claims;
  ASSERT_EQ(parse_object(R"({"aud":["a","b"],"one":"c","scope":" r  w ","scp":"x"})", kClaimsLimits, &claims),
            JsonError::kOk);
  EXPECT_THAT(texts_of(claims, "aud"), ElementsAre("a", "b"));
  EXPECT_THAT(texts_of(claims, "one"), ElementsAre("c"));
  EXPECT_TRUE(texts_of(claims, "two").empty());
  EXPECT_THAT(scopes_of(claims), ElementsAre("r", "w"));
  ASSERT_EQ(parse_object(R"({"scp":["x","y z"]})", kClaimsLimits, &claims), JsonError::kOk);
  EXPECT_THAT(scopes_of(claims), ElementsAre("x", "y", "z"));
}

}  // namespace
}  // namespace drover::engine::auth
