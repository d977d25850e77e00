#include "bench/load/tls_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace drover::bench {

TlsSettings::TlsSettings() : context_(SSL_CTX_new(TLS_client_method())) {
  static const unsigned char kProtocols[] = {2, 'h', '2'};
  const bool made = context_ != nullptr && SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_ciphersuites(context_, "TLS_AES_128_GCM_SHA256") == 1 &&
                    SSL_CTX_set_alpn_protos(context_, kProtocols, sizeof kProtocols) == 0;
  if (!made) {
    std::fprintf(stderr, "TLS: %s\n", TlsClient::error().c_str());
    std::exit(1);
  }
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context_, 1);
}

TlsSettings::~TlsSettings() { SSL_CTX_free(context_); }

TlsClient::TlsClient(const TlsSettings& settings, int socket) : ssl_(SSL_new(settings.context())) {
  SSL_set_fd(ssl_, socket);
  SSL_set_connect_state(ssl_);
}

TlsClient::~TlsClient() { SSL_free(ssl_); }

TlsClient::Progress TlsClient::shake_hands() {
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) return Progress::kDone;
  const int why = SSL_get_error(ssl_, result);
  return why == SSL_ERROR_WANT_READ    ? Progress::kReads
         : why == SSL_ERROR_WANT_WRITE ? Progress::kWrites
                                       : Progress::kFailed;
}

ssize_t TlsClient::result_of(int result) {
  if (result > 0) return result;
  const int why = SSL_get_error(ssl_, result);
  if (why == SSL_ERROR_ZERO_RETURN) return 0;
  const bool later = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
  if (!later && why != SSL_ERROR_SYSCALL) errno = EPROTO;
  if (later) errno = EAGAIN;
  ERR_clear_error();
  return -1;
}

ssize_t TlsClient::read(void* to, size_t size) {
  return result_of(SSL_read(ssl_, to, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

ssize_t TlsClient::write(const void* from, size_t size) {
  return result_of(SSL_write(ssl_, from, static_cast<int>(std::min<size_t>(size, INT_MAX))));
}

bool TlsClient::pending() const { return SSL_has_pending(ssl_) == 1; }

std::string TlsClient::error() {
  const char* reason = ERR_reason_error_string(ERR_get_error());
  return reason != nullptr ? reason : "unknown";
}

}  // namespace drover::bench
