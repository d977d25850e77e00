#include <grpcpp/security/server_credentials.h>

namespace grpc {
namespace {

class Credentials final : public ServerCredentials {
 public:
  explicit Credentials(bool cleartext) : cleartext_(cleartext) {}
  bool drover_is_cleartext() const override { return cleartext_; }

 private:
  const bool cleartext_;
};

}  // namespace

std::shared_ptr<ServerCredentials> InsecureServerCredentials() { return std::make_shared<Credentials>(true); }

std::shared_ptr<ServerCredentials> SslServerCredentials(const SslServerCredentialsOptions&) {
  return std::make_shared<Credentials>(false);
}

}  // namespace grpc
