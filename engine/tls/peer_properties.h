// What a client proved by its certificate, as gRPC C++ shows it: the properties of its AuthContext, by name and in
// order (src/core/tsi/ssl_transport_security.cc and ssl_utils.cc of gRPC 1.51 are what tests/test_tls.py compares
// with).
#pragma once

#include <string>
#include <utility>
#include <vector>

struct ssl_st;

namespace drover::engine::tls {

// What a connection proved, by the names of gRPC's AuthContext.
using Properties = std::vector<std::pair<std::string, std::string>>;

// Of a connection whose handshake is over.
Properties peer_properties(const ssl_st* ssl);

}  // namespace drover::engine::tls
