#include "engine/tls/peer_properties.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>
#include <utility>

namespace drover::engine::tls {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

std::string text_of(BIO* bio) {
  const char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
}

std::string subject_of(const X509* certificate) {
  Bio bio(BIO_new(BIO_s_mem()));
  if (!bio) return {};
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  return text_of(bio.get());
}

std::string utf8_of(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) return {};
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

std::string common_name_of(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0 ? std::string() : utf8_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::string pem_of(X509* certificate) {
  Bio bio(BIO_new(BIO_s_mem()));
  return bio && PEM_write_bio_X509(bio.get(), certificate) == 1 ? text_of(bio.get()) : std::string();
}

std::string ip_of(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int size = ASN1_STRING_length(address);
  if (size != 4 && size != 16) return {};
  inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text, sizeof text);
  return text;
}

// Adds properties as long as they fit into kMostIdentity.
class Collector {
 public:
  explicit Collector(Properties* out) : out_(*out) {}
  bool fits() const { return fits_; }
  void add(const char* name, std::string value) {
    const size_t bytes = std::string_view(name).size() + value.size();
    if (!fits_ || bytes > left_) {
      fits_ = false;
      return;
    }
    left_ -= bytes;
    out_.emplace_back(name, std::move(value));
  }

 private:
  Properties& out_;
  size_t left_ = kMostIdentity;
  bool fits_ = true;
};

// gRPC's rule: a trust domain of at most 255 bytes and a path that is not empty, in 2,048 bytes.
bool is_spiffe_id(std::string_view uri) {
  constexpr std::string_view kScheme = "spiffe://";
  if (!uri.starts_with(kScheme) || uri.size() > 2048) return false;
  const std::string_view rest = uri.substr(kScheme.size());
  const size_t slash = rest.find('/');
  return slash <= 255 && slash + 1 < rest.size() && rest[slash + 1] != '/';
}

void add_alternative_names(X509* certificate, Collector& out) {
  int uris = 0;
  std::string spiffe_id;
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names) && out.fits(); ++i) {
    int type;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);
    const char* kind = type == GEN_DNS     ? "peer_dns"
                       : type == GEN_URI   ? "peer_uri"
                       : type == GEN_EMAIL ? "peer_email"
                       : type == GEN_IPADD ? "peer_ip"
                                           : nullptr;
    if (kind == nullptr) continue;
    std::string text = type == GEN_IPADD ? ip_of(static_cast<const ASN1_OCTET_STRING*>(value))
                                         : utf8_of(static_cast<const ASN1_STRING*>(value));
    if (type == GEN_URI && ++uris == 1 && is_spiffe_id(text)) spiffe_id = text;
    out.add(kind, text);
    out.add("x509_subject_alternative_name", std::move(text));
  }
  GENERAL_NAMES_free(names);
  if (uris == 1 && !spiffe_id.empty()) out.add("peer_spiffe_id", std::move(spiffe_id));
}

}  // namespace

bool peer_properties(const SSL* ssl, Properties* properties) {
  Collector out(properties);
  out.add("transport_security_type", "ssl");
  if (X509* certificate = SSL_get0_peer_certificate(ssl)) {
    out.add("x509_subject", subject_of(certificate));
    out.add("x509_common_name", common_name_of(certificate));
    out.add("x509_pem_cert", pem_of(certificate));
    add_alternative_names(certificate, out);
  }
  out.add("security_level", "TSI_PRIVACY_AND_INTEGRITY");
  out.add("ssl_session_reused", SSL_session_reused(ssl) == 1 ? "true" : "false");
  ERR_clear_error();
  return out.fits();
}

}  // namespace drover::engine::tls
