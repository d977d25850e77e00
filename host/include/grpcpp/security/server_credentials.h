// ServerCredentials: how a listening port is secured. gRPC's functions, and drover::EngineTlsCredentials, with which
// keys never come into this process. The engine does the TLS; BuildAndStart says what is wrong with credentials.
#pragma once

#include <memory>
#include <string>
#include <vector>

typedef enum {
  GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
  GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY,
  GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY,
  GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY,
  GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
} grpc_ssl_client_certificate_request_type;

namespace drover::host {
struct TlsOffer;
}

namespace grpc {

class ServerCredentials {
 public:
  virtual ~ServerCredentials() = default;
  // Null: cleartext.
  virtual std::shared_ptr<const drover::host::TlsOffer> drover_tls() const = 0;
};

std::shared_ptr<ServerCredentials> InsecureServerCredentials();

struct SslServerCredentialsOptions {
  SslServerCredentialsOptions() = default;
  explicit SslServerCredentialsOptions(grpc_ssl_client_certificate_request_type request_type)
      : client_certificate_request(request_type) {}

  struct PemKeyCertPair {
    std::string private_key;
    std::string cert_chain;
  };
  std::string pem_root_certs;
  std::vector<PemKeyCertPair> pem_key_cert_pairs;
  bool force_client_auth = false;
  grpc_ssl_client_certificate_request_type client_certificate_request = GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
};

std::shared_ptr<ServerCredentials> SslServerCredentials(const SslServerCredentialsOptions& options);

}  // namespace grpc

namespace drover {

// TLS by an identity that the engine's configuration names (tls.identities; that of tls.certificate is "default").
std::shared_ptr<grpc::ServerCredentials> EngineTlsCredentials(const std::string& identity);

}  // namespace drover
