// How a listening address is secured, as a host tells its engine (ListenTls). The host keeps the texts as long as its
// server runs, since another engine may have to be told; an identity of the engine's configuration needs none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace drover::host {

struct TlsOffer {
  ~TlsOffer();  // overwrites the texts

  std::string identity;  // of the engine's configuration; empty: the PEM texts
  std::string pems;      // key, chain, key, chain ..., root certificates, each but the last ended by a NUL
  uint32_t pairs = 0;
  uint32_t clients = 0;  // grpc_ssl_client_certificate_request_type
  std::string wrong;     // why it cannot be offered
};

}  // namespace drover::host
