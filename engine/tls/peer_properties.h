// What a client proved by its certificate, as gRPC C++ shows it: the properties of its AuthContext, by name and in
// order (src/core/tsi/ssl_transport_security.cc and ssl_utils.cc of gRPC 1.51 are what tests/test_tls.py compares
// with).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

struct ssl_st;

namespace drover::engine::tls {

// What a connection proved, by the names of gRPC's AuthContext.
using Properties = std::vector<std::pair<std::string, std::string>>;

// How many bytes their names and values may have: each call carries them to its host. A certificate of RSA 4096 bits
// with a few names takes about 4 KiB.
inline constexpr size_t kMostIdentity = 16 << 10;

// Of a connection whose handshake is over. False: they are larger than that.
bool peer_properties(const ssl_st* ssl, Properties* out);

}  // namespace drover::engine::tls
