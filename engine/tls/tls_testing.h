// What tests of TLS share: keys and certificates made here, and a client in memory.
#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/tls/context.h"
#include "engine/tls/session.h"

namespace drover::engine::tls {

inline std::string pem_of(BIO* bio) {
  char* text;
  const long size = BIO_get_mem_data(bio, &text);
  std::string out(text, static_cast<size_t>(size));
  BIO_free(bio);
  return out;
}

// A certificate for `name`, signed by itself or by another.
struct TestCertificate {
  explicit TestCertificate(const std::string& name, const TestCertificate* by = nullptr, const char* kind = "EC",
                           size_t bits = 2048, const std::string& more_names = {})
      : key(std::string_view(kind) == "EC" ? EVP_EC_gen("P-256") : EVP_RSA_gen(static_cast<unsigned>(bits))),
        certificate(X509_new()) {
    X509_set_version(certificate, 2);
    static long serial = 1;
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86'400);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(by != nullptr ? by->certificate : certificate));
    add(by == nullptr ? NID_basic_constraints : NID_subject_alt_name,
        by == nullptr ? "critical,CA:TRUE" : "DNS:" + name + more_names);
    X509_sign(certificate, by != nullptr ? by->key : key, EVP_sha256());
  }
  ~TestCertificate() {
    EVP_PKEY_free(key);
    X509_free(certificate);
  }
  TestCertificate(const TestCertificate&) = delete;

  std::string key_pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    return pem_of(bio);
  }
  std::string pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, certificate);
    return pem_of(bio);
  }
  Credentials::Pair pair() const { return {key_pem(), pem()}; }

  EVP_PKEY* key;
  X509* certificate;

 private:
  void add(int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
};

inline std::shared_ptr<const Context> context_of(Credentials credentials) {
  std::string error;
  std::shared_ptr<const Context> context = Context::make(credentials, Version::k12, &error);
  if (context == nullptr) throw std::runtime_error(error);
  return context;
}

// OpenSSL's client; its bytes lie in memory.
class TestClient {
 public:
  explicit TestClient(int version = TLS1_3_VERSION, const char* alpn = "\2h2")
      : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    if (alpn != nullptr) {
      SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(alpn),
                              static_cast<unsigned>(std::char_traits<char>::length(alpn)));
    }
  }
  ~TestClient() {
    if (ssl_ != nullptr) SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN);  // else its session is not for another time
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TestClient(const TestClient&) = delete;

  void use(const TestCertificate& certificate) {
    SSL_CTX_use_certificate(context_, certificate.certificate);
    SSL_CTX_use_PrivateKey(context_, certificate.key);
  }
  SSL_CTX* context() { return context_; }
  SSL* ssl() {
    if (ssl_ != nullptr) return ssl_;
    ssl_ = SSL_new(context_);
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_, in_, out_);
    SSL_set_connect_state(ssl_);
    return ssl_;
  }
  bool shake_hands() {
    ERR_clear_error();
    return SSL_do_handshake(ssl()) == 1;
  }
  void give(const std::string& bytes) {
    ssl();
    if (!bytes.empty()) BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  }
  // What it has to say.
  std::string take() {
    ssl();
    char* text;
    const long size = BIO_get_mem_data(out_, &text);
    std::string bytes(text, static_cast<size_t>(size));
    (void)BIO_reset(out_);
    return bytes;
  }
  void write(const std::string& text) { SSL_write(ssl(), text.data(), static_cast<int>(text.size())); }
  std::string read() {
    std::string all;
    char some[20'000];
    for (int n; (n = SSL_read(ssl(), some, sizeof some)) > 0;) all.append(some, static_cast<size_t>(n));
    return all;
  }

 private:
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

// Gives the session bytes in pieces of at most `piece`; returns the plaintext.
inline std::string feed(Session& session, const std::string& bytes, size_t piece = SIZE_MAX) {
  std::string plain;
  char some[tls::kRecordBytes];
  for (size_t at = 0; at < bytes.size();) {
    const size_t given = std::min(piece, bytes.size() - at);
    for (size_t taken = 0; taken < given;) {
      taken += session.take(bytes.data() + at + taken, given - taken);
      for (size_t n; (n = session.read(some, sizeof some)) > 0;) plain.append(some, n);
    }
    at += given;
  }
  return plain;
}

inline std::string own_of(Session& session) {
  std::string own;
  session.take_own(&own);
  return own;
}

// Lets both talk until neither has anything to say.
inline void shake_hands(Session& session, TestClient& client, size_t piece = SIZE_MAX) {
  for (int i = 0; i < 10; ++i) {
    client.shake_hands();
    const std::string said = client.take();
    if (!said.empty()) feed(session, said, piece);
    const std::string answer = own_of(session);
    client.give(answer);
    if (said.empty() && answer.empty()) return;
  }
}

}  // namespace drover::engine::tls
