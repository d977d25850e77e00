#include "engine/auth/key_set.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <algorithm>

#include "engine/auth/base64url.h"
#include "engine/auth/json.h"
#include "engine/base/freed.h"

namespace drover::engine::auth {
namespace {

constexpr JsonLimits kJwksLimits{KeySet::kMaxFile, 8, 4096};
constexpr int kLeastRsaBits = 2048, kMostRsaBits = 4096;
constexpr size_t kMostExponent = 4;  // bytes: a verification multiplies as often as it has bits
constexpr size_t kLeastSecret = 32;  // bytes (RFC 7518, section 3.2)

using Pkey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Pkey from_params(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1) return {};
  if (EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) return {};
  return Pkey(key);
}

// What a JWK's member says, decoded; false: it has no such member, or it is no base64url text.
bool bytes_of(const Json& jwk, const char* name, std::string* out) {
  const Json* found = jwk.find(name);
  return found != nullptr && found->is(Json::Kind::kString) && decode_base64url(found->text, out);
}

std::string text_of(const Json& jwk, const char* name) {
  const Json* found = jwk.find(name);
  return found != nullptr && found->is(Json::Kind::kString) ? found->text : std::string();
}

Pkey rsa_of(const Json& jwk) {
  std::string n, e;
  if (!bytes_of(jwk, "n", &n) || !bytes_of(jwk, "e", &e) || e.size() > kMostExponent || n.size() > kMostRsaBits / 8) {
    return {};
  }
  const Number modulus(BN_bin2bn(bytes_of(n), static_cast<int>(n.size()), nullptr));
  const Number exponent(BN_bin2bn(bytes_of(e), static_cast<int>(e.size()), nullptr));
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!modulus || !exponent || !builder || BN_is_odd(exponent.get()) != 1 || BN_is_one(exponent.get()) == 1) return {};
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return from_params("RSA", builder.get());
}

Pkey ec_of(const Json& jwk, const char* group, size_t size) {
  std::string x, y;
  if (!bytes_of(jwk, "x", &x) || !bytes_of(jwk, "y", &y) || x.size() != size || y.size() != size) return {};
  const std::string point = "\x04" + x + y;
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder) return {};
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  return from_params("EC", builder.get());
}

// The kind of a public key that may be used; `why` says what is wrong with any other.
std::optional<KeyKind> kind_of(EVP_PKEY* key, std::string* why) {
  const int type = EVP_PKEY_get_base_id(key);
  if (type == EVP_PKEY_ED25519) return KeyKind::kEd25519;
  const int bits = EVP_PKEY_get_bits(key);
  if (type == EVP_PKEY_RSA && (bits < kLeastRsaBits || bits > kMostRsaBits)) {
    return *why = "an RSA key of " + std::to_string(bits) + " bits; expected 2048 to 4096", std::nullopt;
  }
  const PkeyContext check(EVP_PKEY_CTX_new(key, nullptr));
  if (!check || EVP_PKEY_public_check(check.get()) != 1) return *why = "a public key that cannot be", std::nullopt;
  if (type == EVP_PKEY_RSA) {
    BIGNUM* e = nullptr;
    EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e);
    const Number exponent(e);
    if (!exponent || BN_num_bits(exponent.get()) > static_cast<int>(8 * kMostExponent)) {
      return *why = "an RSA key with an exponent of more than 32 bits", std::nullopt;
    }
    return KeyKind::kRsa;
  }
  char group[32] = "";
  if (type == EVP_PKEY_EC && EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1) {
    if (std::string_view(group) == "prime256v1") return KeyKind::kP256;
    if (std::string_view(group) == "secp384r1") return KeyKind::kP384;
  }
  return *why = "a key of a kind that is not supported; expected RSA, P-256, P-384 or Ed25519", std::nullopt;
}

// One key of a JWKS. Null with an empty `why`: one that is of no use here.
std::unique_ptr<Key> key_of(const Json& jwk, std::string* why) {
  const std::string type = text_of(jwk, "kty"), curve = text_of(jwk, "crv"), use = text_of(jwk, "use");
  if (!use.empty() && use != "sig") return nullptr;
  if (type == "oct") {
    std::string secret;
    if (!bytes_of(jwk, "k", &secret) || secret.size() < kLeastSecret) {
      OPENSSL_cleanse(secret.data(), secret.size());
      return *why = "a secret (\"k\") of fewer than 32 bytes", nullptr;
    }
    return std::make_unique<Key>(std::move(secret));
  }
  if (jwk.find("d") != nullptr) return *why = "a private key (\"d\"); the engine needs public keys only", nullptr;
  Pkey key;
  if (type == "RSA") {
    key = rsa_of(jwk);
  } else if (type == "EC" && curve == "P-256") {
    key = ec_of(jwk, "prime256v1", 32);
  } else if (type == "EC" && curve == "P-384") {
    key = ec_of(jwk, "secp384r1", 48);
  } else if (type == "OKP" && curve == "Ed25519") {
    std::string x;
    if (bytes_of(jwk, "x", &x) && x.size() == 32) {
      key.reset(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size()));
    }
  } else {
    return nullptr;
  }
  if (!key) return *why = "its parameters are no key of the kind " + type, nullptr;
  const std::optional<KeyKind> kind = kind_of(key.get(), why);
  return kind ? std::make_unique<Key>(*kind, key.release()) : nullptr;
}

// r and s, one behind the other, as the DER that OpenSSL wants.
std::string der_of(std::string_view signature) {
  const size_t half = signature.size() / 2;
  const Signature parts(ECDSA_SIG_new());
  Number r(BN_bin2bn(bytes_of(signature), static_cast<int>(half), nullptr));
  Number s(BN_bin2bn(bytes_of(signature) + half, static_cast<int>(half), nullptr));
  if (!parts || !r || !s || ECDSA_SIG_set0(parts.get(), r.get(), s.get()) != 1) return {};
  (void)r.release(), (void)s.release();
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(parts.get(), &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

}  // namespace

Key::~Key() {
  EVP_PKEY_free(key_);
  OPENSSL_cleanse(secret_.data(), secret_.size());
}

bool Key::fits(Algorithm algorithm) const {
  const AlgorithmInfo& info = info_of(algorithm);
  // A secret is at least as long as the algorithm's digest (RFC 7518, section 3.2).
  return info.key == kind_ && (!only || *only == algorithm) &&
         (kind_ != KeyKind::kSecret || secret_.size() >= info.signature);
}

bool Key::verifies_mac(const AlgorithmInfo& algorithm, std::string_view input, std::string_view signature) const {
  unsigned char expected[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const EVP_MD* digest = EVP_get_digestbyname(algorithm.digest);
  if (HMAC(digest, secret_.data(), static_cast<int>(secret_.size()), bytes_of(input), input.size(), expected, &size) ==
      nullptr) {
    return false;
  }
  const bool same = size == signature.size() && CRYPTO_memcmp(expected, signature.data(), size) == 0;
  OPENSSL_cleanse(expected, sizeof expected);
  return same;
}

bool Key::verifies(Algorithm algorithm, std::string_view input, std::string_view signature) const {
  if (!fits(algorithm)) return false;
  const AlgorithmInfo& info = info_of(algorithm);
  if (kind_ == KeyKind::kSecret) return verifies_mac(info, input, signature);
  const size_t expected = info.signature != 0 ? info.signature : static_cast<size_t>(EVP_PKEY_get_size(key_));
  if (signature.size() != expected) return false;
  std::string der;
  if (kind_ == KeyKind::kP256 || kind_ == KeyKind::kP384) {
    der = der_of(signature);
    signature = der;
  }
  const Digest digest(EVP_MD_CTX_new());
  EVP_PKEY_CTX* context = nullptr;  // the digest's
  bool good =
      digest && EVP_DigestVerifyInit_ex(digest.get(), &context, info.digest, nullptr, nullptr, key_, nullptr) == 1;
  if (good && info.pss) {
    good = EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  good =
      good && EVP_DigestVerify(digest.get(), bytes_of(signature), signature.size(), bytes_of(input), input.size()) == 1;
  ERR_clear_error();
  return good;
}

// ---- Sets.

bool KeySet::add(std::unique_ptr<Key> key, Algorithms allowed, std::string* error) {
  bool useful = false;
  for (const AlgorithmInfo& one : all_algorithms()) useful |= allowed.has(one.id) && key->fits(one.id);
  if (!useful) return ++left_out_, true;
  if (keys_.size() >= kMaxKeys) return *error = "more than " + std::to_string(kMaxKeys) + " keys", false;
  keys_.push_back(std::move(key));
  return true;
}

bool KeySet::read_jwks(std::string_view text, Algorithms allowed, std::string* error) {
  Json set;
  switch (parse_object(text, kJwksLimits, &set)) {
    case JsonError::kOk:
      break;
    case JsonError::kMalformed:
      return *error = "it is no JSON object", false;
    case JsonError::kDuplicate:
      return *error = "a JSON object has two members of one name", false;
    case JsonError::kTooLarge:
      return *error = "its JSON is too large, or too deep", false;
  }
  const Json* keys = set.find("keys");
  if (keys == nullptr || !keys->is(Json::Kind::kArray)) return *error = "it is no JWKS: no array \"keys\"", false;
  for (size_t i = 0; i < keys->items.size(); ++i) {
    const Json& jwk = keys->items[i];
    std::string why;
    std::unique_ptr<Key> key = key_of(jwk, &why);
    if (!why.empty()) return *error = "key " + std::to_string(i) + ": " + why, false;
    const std::string algorithm = text_of(jwk, "alg");
    if (key != nullptr && !algorithm.empty()) {
      key->only = find_algorithm(algorithm);
      if (!key->only) key = nullptr;
    }
    if (key == nullptr) {
      ++left_out_;
      continue;
    }
    key->id = text_of(jwk, "kid");
    if (!add(std::move(key), allowed, error)) return false;
  }
  return true;
}

bool KeySet::read_pem(std::string_view text, Algorithms allowed, std::string* error) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  for (size_t i = 0; bio; ++i) {
    char *name = nullptr, *header = nullptr;
    unsigned char* der = nullptr;
    long size = 0;
    if (PEM_read_bio(bio.get(), &name, &header, &der, &size) != 1) break;
    const std::string label = name;
    const unsigned char* at = der;
    Pkey key;
    if (label == PEM_STRING_PUBLIC) {
      key.reset(d2i_PUBKEY(nullptr, &at, size));
    } else if (label == PEM_STRING_X509) {
      const Certificate certificate(d2i_X509(nullptr, &at, size));
      if (certificate) key.reset(X509_get_pubkey(certificate.get()));
    }
    OPENSSL_cleanse(der, static_cast<size_t>(size));  // it may be a private key
    OPENSSL_free(der);
    OPENSSL_free(name);
    OPENSSL_free(header);
    std::string why;
    const std::optional<KeyKind> kind = key ? kind_of(key.get(), &why) : std::nullopt;
    if (!key) why = "\"" + label + "\" is not read here; expected PUBLIC KEY or CERTIFICATE";
    if (!kind) return *error = "part " + std::to_string(i) + ": " + why, false;
    if (!add(std::make_unique<Key>(*kind, key.release()), allowed, error)) return false;
  }
  return true;
}

// Whatever a token says, no more than kMostTries keys of the set may fit it: without a kid, all keys of the algorithm
// are asked for, and find() refuses if there are too many; those with a kid must be few by themselves.
bool KeySet::check_tries(std::string* error) const {
  for (const auto& one : keys_) {
    for (const AlgorithmInfo& algorithm : all_algorithms()) {
      if (!one->fits(algorithm.id)) continue;
      size_t same = 0;
      for (const auto& other : keys_) same += other->fits(algorithm.id) && (other->id == one->id || other->id.empty());
      if (same <= kMostTries) continue;
      *error = std::to_string(same) + " keys of the kind " + key_kind_name(one->kind()) +
               " would have to be tried for " +
               (one->id.empty() ? "a token; give them a \"kid\"" : "the kid '" + one->id + "'") + " (at most 2)";
      return false;
    }
  }
  return true;
}

std::shared_ptr<const KeySet> KeySet::read(std::string_view text, Algorithms allowed, std::string* error) {
  auto set = std::make_shared<KeySet>();
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  const bool good = json ? set->read_jwks(text, allowed, error) : set->read_pem(text, allowed, error);
  ERR_clear_error();
  if (!good) return nullptr;
  if (set->keys_.empty()) {
    *error = set->left_out_ != 0
                 ? "none of its " + std::to_string(set->left_out_) + " keys fits the issuer's algorithms"
                 : "it has no keys; expected a JWKS, or PEM";
    return nullptr;
  }
  return set->check_tries(error) ? set : nullptr;
}

std::vector<const Key*> KeySet::find(Algorithm algorithm, const std::string* id) const {
  std::vector<const Key*> found;
  for (const auto& key : keys_) {
    if (!key->fits(algorithm) || (id != nullptr && !key->id.empty() && key->id != *id)) continue;
    found.push_back(key.get());
  }
  if (found.size() > kMostTries) found.clear();  // a token without a kid, where keys have one
  return found;
}

bool KeySet::has_secret() const {
  return std::any_of(keys_.begin(), keys_.end(), [](const auto& key) { return key->kind() == KeyKind::kSecret; });
}

}  // namespace drover::engine::auth
