// What a listener's TLS is made of: keys with their certificates, the authorities of clients' certificates, and whether
// clients are asked for one. As PEM text, from files or from a host; engine/tls/context.h makes use of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/secret_text.h"

namespace drover::engine::tls {

// Values are those of gRPC's grpc_ssl_client_certificate_request_type.
enum class ClientCertificates : uint8_t {
  kNone = 0,               // not asked for
  kRequestUnverified = 1,  // asked for, any is taken
  kRequest = 2,            // asked for; one that comes must verify
  kRequireUnverified = 3,  // one must come, any is taken
  kRequire = 4,            // one must come, and must verify
};
inline constexpr uint32_t kClientCertificatesKinds = 5;

// Bounds of what hosts and files may give.
inline constexpr size_t kMaxPems = 1 << 20;  // bytes together
inline constexpr size_t kMaxPairs = 64;
inline constexpr size_t kMaxChain = 16;  // certificates of one chain
inline constexpr size_t kMaxRoots = 4096;
inline constexpr size_t kMaxKey = 16 << 10;         // bytes of a key's PEM: no exponent takes long
inline constexpr size_t kMaxChainBytes = 64 << 10;  // of a chain's: each handshake has a copy

// A file of certificates may hold their keys, too: all of it is wiped from memory when it goes.
struct Credentials {
  struct Pair {
    SecretText key;
    SecretText chain;  // the certificate, then those between it and its root
  };
  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  Credentials(Credentials&&) = default;
  Credentials& operator=(Credentials&&) = default;

  std::vector<Pair> pairs;  // the first one is for clients that ask for no name, or for one that no pair has
  SecretText roots;         // for clients' certificates
  ClientCertificates clients = ClientCertificates::kNone;
};

// `text` as a host sends it: key, chain, key, chain ..., roots, each but the last ended by a NUL; `pairs` of the
// former. False: it has another shape.
bool split_credentials(std::string_view text, uint32_t pairs, Credentials* out);
// SHA-256 of all of it: the same credentials have the same. Empty if OpenSSL has no memory.
std::string fingerprint(const Credentials& credentials);

}  // namespace drover::engine::tls
