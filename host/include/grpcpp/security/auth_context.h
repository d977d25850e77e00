// AuthContext: who the peer is, by what its connection proved. gRPC's class, with gRPC's property names:
// transport_security_type, x509_common_name, x509_subject_alternative_name, x509_pem_cert, security_level, ...
#pragma once

#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc {

using AuthProperty = std::pair<string_ref, string_ref>;

class AuthPropertyIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = const AuthProperty;
  using pointer = void;
  using reference = void;
  using difference_type = std::ptrdiff_t;

  AuthPropertyIterator() = default;
  explicit AuthPropertyIterator(const AuthProperty* at) : at_(at) {}
  AuthPropertyIterator& operator++() { return ++at_, *this; }
  AuthPropertyIterator operator++(int) { return AuthPropertyIterator(at_++); }
  bool operator==(const AuthPropertyIterator& other) const { return at_ == other.at_; }
  bool operator!=(const AuthPropertyIterator& other) const { return at_ != other.at_; }
  AuthProperty operator*() const { return *at_; }

 private:
  const AuthProperty* at_ = nullptr;
};

class AuthContext {
 public:
  virtual ~AuthContext() = default;
  virtual bool IsPeerAuthenticated() const = 0;
  virtual std::vector<string_ref> GetPeerIdentity() const = 0;
  virtual std::string GetPeerIdentityPropertyName() const = 0;
  virtual std::vector<string_ref> FindPropertyValues(const std::string& name) const = 0;
  virtual AuthPropertyIterator begin() const = 0;
  virtual AuthPropertyIterator end() const = 0;
};

}  // namespace grpc
