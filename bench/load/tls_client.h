// TLS of a load connection over its non-blocking socket: OpenSSL's client, with one cipher suite for all servers, so
// that none is measured with a cheaper one. The certificate is not looked at: the load measures servers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace drover::bench {

// What all connections of a run share. Exits with a message where OpenSSL does not do what is asked.
class TlsSettings {
 public:
  TlsSettings();
  ~TlsSettings();
  TlsSettings(const TlsSettings&) = delete;
  TlsSettings& operator=(const TlsSettings&) = delete;
  ssl_ctx_st* context() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

class TlsClient {
 public:
  TlsClient(const TlsSettings& settings, int socket);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  enum class Progress { kDone, kReads, kWrites, kFailed };
  Progress shake_hands();
  // As recv and send on a non-blocking socket.
  ssize_t read(void* to, size_t size);
  ssize_t write(const void* from, size_t size);
  // Plaintext that was received and not read yet.
  bool pending() const;
  static std::string error();

 private:
  ssize_t result_of(int result);

  ssl_st* ssl_;
};

}  // namespace drover::bench
