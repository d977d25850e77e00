// What the connections of a listener are secured with, as OpenSSL sees it. A Context is immutable: other certificates
// are another Context. A Server is the Context of the day.
//
//   Credentials -> Context (an SSL_CTX a certificate) --shared by engine threads--> Session, one a connection
//   Server: replace(Context) when files change; connections that are open keep the one they began with
//
// TLS 1.2 and 1.3; ALPN h2 or nothing; forward-secret AEAD ciphers only; no renegotiation, no compression, no early
// data. Sessions resume by tickets, sealed by keys that live as long as the Context: it holds no sessions.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/tls/credentials.h"

struct ssl_st;
struct ssl_ctx_st;

namespace drover::engine::tls {

// "1.2" and "1.3" of tls.min_version.
enum class Version : uint8_t { k12, k13 };

class Context {
 public:
  // Null: `error` says what is wrong with the credentials, in a sentence without secrets.
  static std::shared_ptr<const Context> make(const Credentials& credentials, Version least, std::string* error);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // A connection's state, the server's side; null: no memory. The caller frees it.
  ssl_st* new_connection() const;
  // For logs: the first certificate's subject and when it ends.
  std::string describe() const;

 private:
  Context() = default;
  struct Callbacks;  // OpenSSL's, in context.cc
  std::vector<ssl_ctx_st*> pairs_;
};

// May be replaced while connections are made.
class Server {
 public:
  explicit Server(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return context_;
  }
  void replace(std::shared_ptr<const Context> context) {
    std::lock_guard<std::mutex> lock(mutex_);
    context_.swap(context);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Context> context_;
};

// The oldest of OpenSSL's errors as text, or "unknown"; the thread's queue of errors is empty afterwards.
std::string take_openssl_error();

}  // namespace drover::engine::tls
