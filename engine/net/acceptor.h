// The listening sockets of one engine thread. Accepts connections and hands each to the protocol that serves it.
//
// When the process is out of descriptors, accepting pauses for a moment instead of spinning.
// Thread-safety: none; the loop's thread (or before it runs).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/base/clock.h"
#include "engine/net/event_loop.h"
#include "engine/tls/context.h"
#include "object/unique_fd.h"

namespace drover::engine {

// A connection that a listener accepted.
struct Accepted {
  UniqueFd fd;
  std::string peer;        // as gRPC spells it ("ipv4:127.0.0.1:4711")
  uint32_t listener;       // its id
  const tls::Server* tls;  // the listener's; null: cleartext
};

// Takes accepted sockets: a protocol's transport.
class ConnectionSink {
 public:
  // May throw std::bad_alloc: the connection is closed then.
  virtual void adopt_connection(Accepted accepted) = 0;

 protected:
  ~ConnectionSink() = default;
};

class Acceptor {
 public:
  // `sink` must outlive the Acceptor or its last turn.
  Acceptor(EventLoop& loop, ConnectionSink& sink) : loop_(loop), sink_(sink) {}
  ~Acceptor() { close_all(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Starts to accept on `fd` (bound, listening, non-blocking). Ignored after stop().
  void adopt(UniqueFd fd, uint32_t listener, std::shared_ptr<const tls::Server> tls);
  void close(uint32_t listener);
  // Whether that listener is open.
  bool listens(uint32_t listener) const { return open_.contains(listener); }
  void close_all();
  // Closes all, for good.
  void stop();

  // That the listener is bound to, as describe_socket spells it; empty: it is not open.
  std::string address(uint32_t listener) const;

  // When the pause ends; kNoDeadline: not paused.
  int64_t resume_ns() const { return resume_ns_; }
  // Call at resume_ns() or later.
  void resume();

 private:
  struct Listener final : FdHandler {
    Listener(Acceptor& a, UniqueFd f, uint32_t i, std::shared_ptr<const tls::Server> t)
        : acceptor(a), fd(std::move(f)), id(i), tls(std::move(t)) {}
    void on_ready(uint32_t) override;
    Acceptor& acceptor;
    UniqueFd fd;
    uint32_t id;
    std::shared_ptr<const tls::Server> tls;
    bool paused = false;
  };

  void pause(Listener& listener);

  EventLoop& loop_;
  ConnectionSink& sink_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_set<uint32_t> open_;  // their ids
  int64_t resume_ns_ = kNoDeadline;
  bool stopped_ = false;
};

}  // namespace drover::engine
