// ServerCredentials: how a listening port is secured. Cleartext is there; with TLS credentials BuildAndStart fails and
// says that TLS is not there yet.
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

namespace grpc {

class ServerCredentials {
 public:
  virtual ~ServerCredentials() = default;
  virtual bool drover_is_cleartext() const = 0;
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
