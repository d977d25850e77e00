// Keys, key files and tokens for tests, made with OpenSSL. Not the code under test: signing is nowhere in the engine.
#pragma once

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/auth/algorithm.h"

namespace drover::engine::auth {

inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (have += 8; have >= 6; have -= 6) out += kAlphabet[bits >> (have - 6) & 63];
  }
  if (have != 0) out += kAlphabet[bits << (6 - have) & 63];
  return out;
}

// A key with which a test signs.
class TestKey {
 public:
  explicit TestKey(KeyKind kind, int rsa_bits = 2048) : kind_(kind) {
    switch (kind) {
      case KeyKind::kRsa:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<size_t>(rsa_bits)));
        break;
      case KeyKind::kP256:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
        break;
      case KeyKind::kP384:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384"));
        break;
      case KeyKind::kEd25519:
        key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
        break;
      case KeyKind::kSecret:
        secret_ = std::string(64, 's');
        break;
    }
  }

  // PUBLIC KEY, as PEM.
  std::string pem() const {
    std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
    PEM_write_bio_PUBKEY(bio.get(), key_.get());
    const char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<size_t>(size));
  }
  std::string private_pem() const {
    std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
    PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    const char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<size_t>(size));
  }
  // The members of its JWK, without braces; `more`: further ones, such as R"("kid":"a")".
  std::string jwk(const std::string& more = "") const {
    std::string members;
    switch (kind_) {
      case KeyKind::kRsa:
        members = R"("kty":"RSA","n":")" + number("n") + R"(","e":")" + number("e") + '"';
        break;
      case KeyKind::kP256:
        members = R"("kty":"EC","crv":"P-256","x":")" + number("qx", 32) + R"(","y":")" + number("qy", 32) + '"';
        break;
      case KeyKind::kP384:
        members = R"("kty":"EC","crv":"P-384","x":")" + number("qx", 48) + R"(","y":")" + number("qy", 48) + '"';
        break;
      case KeyKind::kEd25519:
        members = R"("kty":"OKP","crv":"Ed25519","x":")" + octets() + '"';
        break;
      case KeyKind::kSecret:
        members = R"("kty":"oct","k":")" + base64url(secret_) + '"';
        break;
    }
    return "{" + members + (more.empty() ? "" : "," + more) + "}";
  }

  // The signature of `input`, as a JWS has it.
  std::string sign(Algorithm algorithm, std::string_view input) const {
    const AlgorithmInfo& info = info_of(algorithm);
    const auto* bytes = reinterpret_cast<const unsigned char*>(input.data());
    if (info.key == KeyKind::kSecret) return mac(info, secret_, input);
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_PKEY_CTX* context = nullptr;
    EVP_DigestSignInit_ex(digest.get(), &context, info.digest, nullptr, nullptr, key_.get(), nullptr);
    if (info.pss) {
      EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST);
    }
    size_t size = 1024;
    std::string out(size, 0);
    EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes, input.size());
    out.resize(size);
    if (info.signature == 0 || info.key == KeyKind::kEd25519) return out;
    const auto* der = reinterpret_cast<const unsigned char*>(out.data());
    ECDSA_SIG* parts = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
    std::string raw(info.signature, 0);
    auto* at = reinterpret_cast<unsigned char*>(raw.data());
    const int half = static_cast<int>(info.signature / 2);
    BN_bn2binpad(ECDSA_SIG_get0_r(parts), at, half);
    BN_bn2binpad(ECDSA_SIG_get0_s(parts), at + half, half);
    ECDSA_SIG_free(parts);
    return raw;
  }
  static std::string mac(const AlgorithmInfo& info, const std::string& secret, std::string_view input) {
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    HMAC(EVP_get_digestbyname(info.digest), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(input.data()), input.size(), out, &size);
    return std::string(reinterpret_cast<char*>(out), size);
  }

  // `header` and `claims`: JSON.
  std::string token(Algorithm algorithm, const std::string& header, const std::string& claims) const {
    const std::string input = base64url(header) + "." + base64url(claims);
    return input + "." + base64url(sign(algorithm, input));
  }
  // The same, with the usual header.
  std::string token(Algorithm algorithm, const std::string& claims) const {
    return token(algorithm, R"({"alg":")" + std::string(info_of(algorithm).name) + R"(","typ":"JWT"})", claims);
  }

 private:
  std::string number(const char* name, int size = 0) const {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &number);
    std::string bytes(static_cast<size_t>(size != 0 ? size : BN_num_bytes(number)), 0);
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    BN_free(number);
    return base64url(bytes);
  }
  std::string octets() const {
    std::string bytes(32, 0);
    size_t size = bytes.size();
    EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size);
    return base64url(bytes);
  }

  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  const KeyKind kind_;
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::string secret_;
};

// One of each kind that is slow to make, for all tests of a program.
inline const TestKey& rsa_key() {
  static const TestKey key(KeyKind::kRsa);
  return key;
}

inline std::string jwks(const std::vector<std::string>& keys) {
  std::string all;
  for (const std::string& key : keys) all += (all.empty() ? "" : ",") + key;
  return R"({"keys":[)" + all + "]}";
}

// A file that goes with the object.
class KeyFile {
 public:
  explicit KeyFile(const std::string& text) {
    static int number = 0;
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/drover_keys_" + std::to_string(::getpid()) + "_" +
            std::to_string(number++);
    write(text);
  }
  ~KeyFile() { ::unlink(path_.c_str()); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  void write(const std::string& text) { std::ofstream(path_) << text; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace drover::engine::auth
