#include <grpcpp/security/server_credentials.h>
#include <string.h>

#include "channel/control_format.h"
#include "host/tls_offer.h"

namespace grpc {
namespace {

using drover::host::TlsOffer;

class Credentials final : public ServerCredentials {
 public:
  explicit Credentials(std::shared_ptr<const TlsOffer> tls) : tls_(std::move(tls)) {}
  std::shared_ptr<const TlsOffer> drover_tls() const override { return tls_; }

 private:
  const std::shared_ptr<const TlsOffer> tls_;
};

// The PEM texts as ListenTls sends them: each but the last is followed by a NUL.
size_t pem_bytes(const SslServerCredentialsOptions& options) {
  size_t bytes = options.pem_root_certs.size();
  for (const auto& pair : options.pem_key_cert_pairs) bytes += pair.private_key.size() + pair.cert_chain.size() + 2;
  return bytes;
}

std::string check(const SslServerCredentialsOptions& options) {
  if (options.pem_key_cert_pairs.empty()) return "SslServerCredentials has no pem_key_cert_pairs";
  if (options.pem_key_cert_pairs.size() > drover::kMaxCredentialPairs) {
    return "SslServerCredentials has more than " + std::to_string(drover::kMaxCredentialPairs) + " pem_key_cert_pairs";
  }
  bool nul = options.pem_root_certs.find('\0') != std::string::npos;
  for (const auto& pair : options.pem_key_cert_pairs) {
    if (pair.private_key.empty()) return "SslServerCredentials has a pair without a private_key";
    if (pair.cert_chain.empty()) return "SslServerCredentials has a pair without a cert_chain";
    nul = nul || pair.private_key.find('\0') != std::string::npos || pair.cert_chain.find('\0') != std::string::npos;
  }
  if (nul) return "SslServerCredentials has a PEM text with a NUL inside";
  const size_t bytes = pem_bytes(options);
  if (bytes <= drover::kMaxCredentialBytes) return "";
  return "SslServerCredentials has PEM texts of " + std::to_string(bytes) + " bytes, at most " +
         std::to_string(drover::kMaxCredentialBytes);
}

}  // namespace

std::shared_ptr<ServerCredentials> InsecureServerCredentials() { return std::make_shared<Credentials>(nullptr); }

// What is wrong with the options is told by BuildAndStart, as in gRPC.
std::shared_ptr<ServerCredentials> SslServerCredentials(const SslServerCredentialsOptions& options) {
  auto offer = std::make_shared<TlsOffer>();
  offer->wrong = check(options);
  const auto request = options.force_client_auth ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                 : options.client_certificate_request;
  offer->clients = static_cast<uint32_t>(request);
  if (!offer->wrong.empty()) return std::make_shared<Credentials>(std::move(offer));
  offer->pems.reserve(pem_bytes(options));  // no copies stay behind
  for (const auto& pair : options.pem_key_cert_pairs) {
    offer->pems.append(pair.private_key).push_back('\0');
    offer->pems.append(pair.cert_chain).push_back('\0');
  }
  offer->pems += options.pem_root_certs;
  offer->pairs = static_cast<uint32_t>(options.pem_key_cert_pairs.size());
  return std::make_shared<Credentials>(std::move(offer));
}

}  // namespace grpc

namespace drover {

std::shared_ptr<grpc::ServerCredentials> EngineTlsCredentials(const std::string& identity) {
  auto offer = std::make_shared<host::TlsOffer>();
  offer->identity = identity;
  if (identity.empty()) offer->wrong = "EngineTlsCredentials without the name of an identity";
  return std::make_shared<grpc::Credentials>(std::move(offer));
}

namespace host {

TlsOffer::~TlsOffer() { ::explicit_bzero(pems.data(), pems.size()); }

}  // namespace host
}  // namespace drover
