#include "host/auth_context.h"

#include <iterator>

#include "channel/identity.h"

namespace drover::host {

PeerAuthContext::PeerAuthContext(std::string_view identity) : packed_(identity) {
  std::vector<std::pair<std::string_view, std::string_view>> properties;
  if (packed_.empty() || !unpack_identity(packed_, &properties)) {
    properties.assign(std::begin(kCleartextProperties), std::end(kCleartextProperties));
  }
  for (const auto& [name, value] : properties) {
    properties_.emplace_back(grpc::string_ref(name), grpc::string_ref(value));
    // gRPC's rule: the alternative names, or without any the common name.
    if (name == "x509_subject_alternative_name") identity_name_ = name;
    if (name == "x509_common_name" && identity_name_.empty()) identity_name_ = name;
  }
}

std::vector<grpc::string_ref> PeerAuthContext::GetPeerIdentity() const {
  return identity_name_.empty() ? std::vector<grpc::string_ref>() : FindPropertyValues(identity_name_);
}

std::vector<grpc::string_ref> PeerAuthContext::FindPropertyValues(const std::string& name) const {
  std::vector<grpc::string_ref> values;
  for (const auto& [found, value] : properties_) {
    if (found == grpc::string_ref(name)) values.push_back(value);
  }
  return values;
}

}  // namespace drover::host
