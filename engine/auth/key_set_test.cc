#include "engine/auth/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/auth/auth_testing.h"
#include "engine/auth/base64url.h"

namespace drover::engine::auth {
namespace {

using testing::HasSubstr;

Algorithms all() {
  Algorithms every;
  for (const AlgorithmInfo& one : all_algorithms()) every.add(one.id);
  return every;
}

std::string decoded(std::string_view text) {
  std::string out;
  EXPECT_TRUE(decode_base64url(text, &out));
  return out;
}

std::shared_ptr<const KeySet> read(const std::string& text, Algorithms allowed = all()) {
  std::string error;
  auto set = KeySet::read(text, allowed, &error);
  EXPECT_NE(set, nullptr) << error;
  return set;
}

std::string error_of(const std::string& text, Algorithms allowed = all()) {
  std::string error;
  EXPECT_EQ(KeySet::read(text, allowed, &error), nullptr);
  return error;
}

bool verifies(const KeySet& set, Algorithm algorithm, std::string_view input, std::string_view signature) {
  const auto keys = set.find(algorithm, nullptr);
  return keys.size() == 1 && keys[0]->verifies(algorithm, input, signature);
}

constexpr std::string_view kClaims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

TEST(Key, VerifiesTheExamplesOfTheRfcs) {
  // RFC 7515, A.1: HS256
  const auto secret = read(
      R"({"keys":[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]})");
  EXPECT_TRUE(verifies(*secret, Algorithm::kHs256, "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + std::string(kClaims),
                       decoded("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")));
  // A.2: RS256
  const auto rsa = read(
      R"({"keys":[{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}]})");
  EXPECT_TRUE(verifies(
      *rsa, Algorithm::kRs256, "eyJhbGciOiJSUzI1NiJ9." + std::string(kClaims),
      decoded("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
              "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
              "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
              "wlVmtVrBp0igcN_IoypGlUPQGe77Rw")));
  // A.3: ES256
  const auto ec = read(
      R"({"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})");
  EXPECT_TRUE(
      verifies(*ec, Algorithm::kEs256, "eyJhbGciOiJFUzI1NiJ9." + std::string(kClaims),
               decoded("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")));
  // RFC 8037, A.4: EdDSA
  const auto ed = read(R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
  EXPECT_TRUE(
      verifies(*ed, Algorithm::kEdDsa, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
               decoded("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")));
}

TEST(Key, VerifiesEachAlgorithmAndNoOtherSignature) {
  for (const AlgorithmInfo& one : all_algorithms()) {
    const TestKey key(one.key);
    const auto set = read(jwks({key.jwk()}));
    const std::string signature = key.sign(one.id, "input");
    EXPECT_TRUE(verifies(*set, one.id, "input", signature)) << one.name;
    EXPECT_FALSE(verifies(*set, one.id, "other", signature)) << one.name;
    for (size_t at : {size_t{0}, signature.size() - 1}) {
      std::string changed = signature;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      EXPECT_FALSE(verifies(*set, one.id, "input", changed)) << one.name;
    }
    EXPECT_FALSE(verifies(*set, one.id, "input", signature + "x")) << one.name;
    EXPECT_FALSE(verifies(*set, one.id, "input", signature.substr(1))) << one.name;
    EXPECT_FALSE(verifies(*set, one.id, "input", std::string(signature.size(), 0))) << one.name;
    EXPECT_FALSE(verifies(*set, one.id, "input", "")) << one.name;
    // A key is for the algorithms of its kind.
    for (const AlgorithmInfo& other : all_algorithms()) {
      const bool fits = !set->find(other.id, nullptr).empty();
      EXPECT_EQ(fits, other.key == one.key) << one.name << " " << other.name;
    }
  }
}

TEST(Key, ThePaddingOfRsaIsNotInterchangeable) {
  const auto set = read(jwks({rsa_key().jwk()}));
  EXPECT_FALSE(verifies(*set, Algorithm::kRs256, "input", rsa_key().sign(Algorithm::kPs256, "input")));
  EXPECT_FALSE(verifies(*set, Algorithm::kPs256, "input", rsa_key().sign(Algorithm::kRs256, "input")));
  EXPECT_FALSE(verifies(*set, Algorithm::kRs384, "input", rsa_key().sign(Algorithm::kRs256, "input")));
}

TEST(KeySet, AKeysOwnAlgorithmBindsIt) {
  const auto set = read(jwks({rsa_key().jwk(R"("alg":"PS256")")}));
  EXPECT_TRUE(set->find(Algorithm::kRs256, nullptr).empty());
  EXPECT_EQ(set->find(Algorithm::kPs256, nullptr).size(), 1u);
}

TEST(KeySet, TheKidChoosesTheKey) {
  const TestKey one(KeyKind::kP256), two(KeyKind::kP256), three(KeyKind::kP256);
  const auto set = read(jwks({one.jwk(R"("kid":"1")"), two.jwk(R"("kid":"2")"), three.jwk(R"("kid":"3")")}));
  const std::string id = "2", other = "4";
  ASSERT_EQ(set->find(Algorithm::kEs256, &id).size(), 1u);
  EXPECT_EQ(set->find(Algorithm::kEs256, &id)[0]->id, "2");
  EXPECT_TRUE(set->find(Algorithm::kEs256, &other).empty());
  EXPECT_TRUE(set->find(Algorithm::kEs256, nullptr).empty());  // three would have to be tried
  EXPECT_THAT(error_of(jwks({one.jwk(), two.jwk(), three.jwk()})), HasSubstr("kid"));
}

TEST(KeySet, PemMayHaveTheOldKeyAndTheNewOne) {
  const TestKey one(KeyKind::kP256), two(KeyKind::kEd25519), three(KeyKind::kP256);
  const auto set = read("# a comment\n" + one.pem() + two.pem() + three.pem());
  const std::string id = "any";
  EXPECT_EQ(set->find(Algorithm::kEs256, &id).size(), 2u);
  EXPECT_EQ(set->find(Algorithm::kEdDsa, nullptr).size(), 1u);
  EXPECT_TRUE(set->find(Algorithm::kRs256, nullptr).empty());
}

TEST(KeySet, KeysThatAreOfNoUseAreLeftOut) {
  const TestKey ec(KeyKind::kP256);
  const auto set = read(jwks({ec.jwk(), rsa_key().jwk(R"("use":"enc")"), rsa_key().jwk(R"("alg":"RSA-OAEP")"),
                              R"({"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"})", R"({"kty":"AKP"})"}));
  EXPECT_EQ(set->size(), 1u);
  EXPECT_EQ(set->left_out(), 4u);
  // A secret is of use only where the issuer may use it.
  EXPECT_THAT(error_of(jwks({TestKey(KeyKind::kSecret).jwk()}), Algorithms::asymmetric()),
              HasSubstr("none of its 1 keys"));
}

TEST(KeySet, AFileThatCannotBeUsedHasItsReason) {
  const TestKey ec(KeyKind::kP256);
  std::string off_curve = ec.jwk();
  const size_t y = off_curve.find("\"y\":\"") + 5;
  off_curve[y] = off_curve[y] == 'A' ? 'B' : 'A';
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "it has no keys"},
      {"{}", "no array \"keys\""},
      {"{\"keys\":[", "no JSON object"},
      {R"({"keys":[],"keys":[]})", "two members of one name"},
      {jwks({}), "it has no keys"},
      {jwks({ec.jwk(R"("d":"AAAA")")}), "private key"},
      {jwks({off_curve}), "no key of the kind EC"},
      {jwks({R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})"}), "no key of the kind EC"},
      {jwks({R"({"kty":"RSA","n":"____","e":"AQAB"})"}), "24 bits"},
      {jwks({TestKey(KeyKind::kRsa, 1024).jwk()}), "1024 bits"},
      {jwks({R"({"kty":"oct","k":"c2hvcnQ"})"}), "fewer than 32 bytes"},
      {ec.private_pem(), "PRIVATE KEY"},
  };
  for (const auto& [text, why] : cases) EXPECT_THAT(error_of(text), HasSubstr(why)) << text;
  std::vector<std::string> keys;
  for (size_t i = 0; i <= KeySet::kMaxKeys; ++i) keys.push_back(ec.jwk(R"("kid":")" + std::to_string(i) + '"'));
  EXPECT_THAT(error_of(jwks(keys)), HasSubstr("more than 64 keys"));
}

}  // namespace
}  // namespace drover::engine::auth
