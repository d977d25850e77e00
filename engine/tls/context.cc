#include "engine/tls/context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstring>
#include <string_view>

#include "engine/base/freed.h"

namespace drover::engine::tls {
namespace {

// Server's preference: AES-GCM first, which the CPUs that Drover runs on have instructions for.
constexpr const char* kSuites13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kSuites12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 4096;  // a signature takes about 5 ms of an engine thread's time
constexpr int kVerifyDepth = 8;
constexpr size_t kMaxNames = 60 << 10;             // bytes of the authorities' names in a CertificateRequest
constexpr long kMaxClientCertificates = 32 << 10;  // bytes
constexpr long kTicketSeconds = 3600;
constexpr unsigned char kH2[] = {2, 'h', '2'};
constexpr unsigned char kSessionName[] = "drover";

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

int no_password(char*, int, int, void*) { return -1; }

Bio reader(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// The certificates of `text`, at most `most`. False: `error` says why.
bool read_certificates(std::string_view text, size_t most, const std::string& what, std::vector<Certificate>* out,
                       std::string* error) {
  Bio bio = reader(text);
  ERR_clear_error();
  while (Certificate one{PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)}) {
    if (out->size() == most) return *error = what + " has more than " + std::to_string(most) + " certificates", false;
    out->push_back(std::move(one));
  }
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const std::string why = at_end ? "" : ": " + take_openssl_error();
  ERR_clear_error();
  if (at_end && !out->empty()) return true;
  *error = what + (out->empty() ? " has no certificate in PEM" + why
                                : ": certificate " + std::to_string(out->size() + 1) + " cannot be read" + why);
  return false;
}

bool check_key(const EVP_PKEY* key, const std::string& what, std::string* error) {
  const int bits = EVP_PKEY_get_bits(key);
  if (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS")) {
    if (bits >= kMinRsaBits && bits <= kMaxRsaBits) return true;
    *error = what + " is an RSA key of " + std::to_string(bits) + " bits, expected " + std::to_string(kMinRsaBits) +
             " to " + std::to_string(kMaxRsaBits);
    return false;
  }
  if (EVP_PKEY_is_a(key, "ED25519")) return true;
  if (EVP_PKEY_is_a(key, "EC")) {
    char group[32] = "";
    size_t size = 0;
    EVP_PKEY_get_group_name(key, group, sizeof group, &size);
    for (const char* known : {"prime256v1", "secp384r1", "secp521r1"}) {
      if (std::strcmp(group, known) == 0) return true;
    }
  }
  *error = what + " is of a kind that is not supported: expected RSA, ECDSA (P-256, P-384, P-521) or Ed25519";
  return false;
}

bool use_pair(SSL_CTX* context, const Credentials::Pair& pair, const std::string& name, std::string* error) {
  if (pair.key.size() > kMaxKey || pair.chain.size() > kMaxChainBytes) {
    *error = "the private key" + name + " or its certificate chain is too long: at most " + std::to_string(kMaxKey) +
             " and " + std::to_string(kMaxChainBytes) + " bytes";
    return false;
  }
  Bio bio = reader(pair.key);
  ERR_clear_error();
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key) return *error = "the private key" + name + " cannot be read: " + take_openssl_error(), false;
  if (!check_key(key.get(), "the private key" + name, error)) return false;
  std::vector<Certificate> chain;
  if (!read_certificates(pair.chain, kMaxChain, "the certificate chain" + name, &chain, error)) return false;
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    ERR_clear_error();
    return *error = "the private key" + name + " is not that of its certificate", false;
  }
  bool used = SSL_CTX_use_certificate(context, chain[0].get()) == 1 && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  for (size_t i = 1; used && i < chain.size(); ++i) used = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  if (!used) *error = "the certificate" + name + " cannot be used: " + take_openssl_error();
  return used;
}

int take_any(X509_STORE_CTX*, void*) { return 1; }

// `first`: the context of the first pair, if this one is of another.
bool use_roots(SSL_CTX* context, SSL_CTX* first, const Credentials& credentials, std::string* error) {
  const ClientCertificates clients = credentials.clients;
  if (clients == ClientCertificates::kNone) return true;
  int mode = SSL_VERIFY_PEER;
  if (clients == ClientCertificates::kRequire || clients == ClientCertificates::kRequireUnverified) {
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
  SSL_CTX_set_verify(context, mode, nullptr);
  SSL_CTX_set_verify_depth(context, kVerifyDepth);
  const bool verified = clients == ClientCertificates::kRequest || clients == ClientCertificates::kRequire;
  if (!verified) SSL_CTX_set_cert_verify_callback(context, take_any, nullptr);
  if (credentials.roots.empty()) {
    if (!verified) return true;
    return *error = "clients' certificates are to be verified, but no root certificates are given", false;
  }
  if (first != nullptr) {  // as the pair before has them
    SSL_CTX_set1_cert_store(context, SSL_CTX_get_cert_store(first));
    SSL_CTX_set_client_CA_list(context, SSL_dup_CA_list(SSL_CTX_get_client_CA_list(first)));
    return true;
  }
  std::vector<Certificate> roots;
  if (!read_certificates(credentials.roots, kMaxRoots, "the file of root certificates", &roots, error)) return false;
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  size_t names = 0;
  for (const Certificate& root : roots) {
    if (X509_STORE_add_cert(store, root.get()) != 1 || SSL_CTX_add_client_CA(context, root.get()) != 1) {
      return *error = "a root certificate cannot be used: " + take_openssl_error(), false;
    }
    names += static_cast<size_t>(std::max(0, i2d_X509_NAME(X509_get_subject_name(root.get()), nullptr))) + 2;
  }
  // Clients choose their certificate by the list of names, which has a length of 16 bits; it may be empty.
  if (names > kMaxNames) SSL_CTX_set_client_CA_list(context, sk_X509_NAME_new_null());
  return true;
}

}  // namespace

struct Context::Callbacks {
  // A client that offers no protocol at all speaks another than HTTP/2.
  static int on_hello(SSL* ssl, int* alert, void*) {
    const unsigned char* data;
    size_t size;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &data, &size) == 1) {
      return SSL_CLIENT_HELLO_SUCCESS;
    }
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
  }

  static int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                             unsigned size, void*) {
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_size, kH2, sizeof kH2, offered, size) != OPENSSL_NPN_NEGOTIATED) {
      return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
  }

  // The certificate for the name that the client asks for.
  static int choose_certificate(SSL* ssl, int*, void* argument) {
    const auto& context = *static_cast<const Context*>(argument);
    const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
    for (SSL_CTX* pair : context.pairs_) {
      if (X509_check_host(SSL_CTX_get0_certificate(pair), name, std::strlen(name), 0, nullptr) != 1) continue;
      if (SSL_get_SSL_CTX(ssl) != pair) SSL_set_SSL_CTX(ssl, pair);
      return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
  }

  static bool set_up(SSL_CTX* context, Version least) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_SINGLE_ECDH_USE | SSL_OP_NO_QUERY_MTU);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets hold what would be in it
    SSL_CTX_set_timeout(context, kTicketSeconds);
    SSL_CTX_set_max_cert_list(context, kMaxClientCertificates);
    SSL_CTX_set_max_early_data(context, 0);
    SSL_CTX_set_client_hello_cb(context, on_hello, nullptr);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
    return SSL_CTX_set_min_proto_version(context, least == Version::k13 ? TLS1_3_VERSION : TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_ciphersuites(context, kSuites13) == 1 && SSL_CTX_set_cipher_list(context, kSuites12) == 1 &&
           SSL_CTX_set1_groups_list(context, kGroups) == 1 && SSL_CTX_set_num_tickets(context, 1) == 1 &&
           SSL_CTX_set_session_id_context(context, kSessionName, sizeof kSessionName - 1) == 1;
  }
};

std::shared_ptr<const Context> Context::make(const Credentials& credentials, Version least, std::string* error) {
  size_t bytes = credentials.roots.size();
  for (const Credentials::Pair& pair : credentials.pairs) bytes += pair.key.size() + pair.chain.size();
  if (bytes > kMaxPems) {
    *error = "keys and certificates of " + std::to_string(bytes) + " bytes; at most " + std::to_string(kMaxPems);
    return nullptr;
  }
  if (credentials.pairs.empty() || credentials.pairs.size() > kMaxPairs) {
    *error = std::to_string(credentials.pairs.size()) + " pairs of key and certificate, expected 1 to " +
             std::to_string(kMaxPairs);
    return nullptr;
  }
  std::shared_ptr<Context> made(new Context());
  for (size_t i = 0; i < credentials.pairs.size(); ++i) {
    SSL_CTX* pair = SSL_CTX_new(TLS_server_method());
    if (pair == nullptr) return *error = "OpenSSL: " + take_openssl_error(), nullptr;
    made->pairs_.push_back(pair);
    if (!Callbacks::set_up(pair, least)) return *error = "OpenSSL: " + take_openssl_error(), nullptr;
    const std::string name = credentials.pairs.size() > 1 ? " of pair " + std::to_string(i + 1) : "";
    if (!use_pair(pair, credentials.pairs[i], name, error)) return nullptr;
    if (!use_roots(pair, i == 0 ? nullptr : made->pairs_[0], credentials, error)) return nullptr;
  }
  if (made->pairs_.size() > 1) {
    SSL_CTX_set_tlsext_servername_callback(made->pairs_[0], Callbacks::choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(made->pairs_[0], made.get());
  }
  return made;
}

Context::~Context() {
  for (SSL_CTX* pair : pairs_) SSL_CTX_free(pair);
}

SSL* Context::new_connection() const {
  SSL* ssl = SSL_new(pairs_[0]);
  if (ssl != nullptr) SSL_set_accept_state(ssl);
  return ssl;
}

std::string Context::describe() const {
  const X509* certificate = SSL_CTX_get0_certificate(pairs_[0]);
  Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || certificate == nullptr) return {};
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  BIO_puts(bio.get(), ", until ");
  ASN1_TIME_print_ex(bio.get(), X509_get0_notAfter(certificate), ASN1_DTFLGS_ISO8601);
  const char* text;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

std::string take_openssl_error() {
  char text[256] = "unknown";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    const char* reason = ERR_reason_error_string(code);
    if (reason != nullptr) {
      ERR_clear_error();
      return reason;
    }
    ERR_error_string_n(code, text, sizeof text);
  }
  ERR_clear_error();
  return text;
}

}  // namespace drover::engine::tls
