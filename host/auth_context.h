// PeerAuthContext: a call's AuthContext, out of what its CallMetadata says of the peer.
#pragma once

#include <grpcpp/security/auth_context.h>

#include <string>
#include <string_view>

namespace drover::host {

class PeerAuthContext final : public grpc::AuthContext {
 public:
  // `identity`: packed properties, copied; empty or malformed: those of a connection without TLS.
  explicit PeerAuthContext(std::string_view identity);
  PeerAuthContext(const PeerAuthContext&) = delete;
  PeerAuthContext& operator=(const PeerAuthContext&) = delete;

  bool IsPeerAuthenticated() const override { return !identity_name_.empty(); }
  std::vector<grpc::string_ref> GetPeerIdentity() const override;
  std::string GetPeerIdentityPropertyName() const override { return identity_name_; }
  std::vector<grpc::string_ref> FindPropertyValues(const std::string& name) const override;
  grpc::AuthPropertyIterator begin() const override { return grpc::AuthPropertyIterator(properties_.data()); }
  grpc::AuthPropertyIterator end() const override {
    return grpc::AuthPropertyIterator(properties_.data() + properties_.size());
  }

 private:
  const std::string packed_;
  std::vector<grpc::AuthProperty> properties_;
  std::string identity_name_;
};

}  // namespace drover::host
