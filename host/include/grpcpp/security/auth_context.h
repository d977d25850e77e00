// AuthContext: who the peer is. Drover has no TLS yet, so that every context is empty and unauthenticated.
#pragma once

#include <grpcpp/support/string_ref.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc {

using AuthProperty = std::pair<string_ref, string_ref>;

class AuthContext {
 public:
  virtual ~AuthContext() = default;
  virtual bool IsPeerAuthenticated() const = 0;
  virtual std::vector<string_ref> GetPeerIdentity() const = 0;
  virtual std::string GetPeerIdentityPropertyName() const = 0;
  virtual std::vector<string_ref> FindPropertyValues(const std::string& name) const = 0;
};

}  // namespace grpc
