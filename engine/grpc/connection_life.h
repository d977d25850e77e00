// ConnectionLife: how long a connection lives, whatever its calls do: whether its peer is still there (keepalive), how
// old it may become, and how long it may be idle. It says what is due; GrpcConnection does it.
//
// Keepalive is gRPC's (A8, A9): a PING when nothing was received for keepalive_ns, and the end when nothing was
// received for keepalive_timeout_ns after it. A connection that reaches its age is drained: its calls may end within
// the grace. Each connection's age differs by up to a tenth, so that clients do not all come back at once. Not
// thread-safe.
#pragma once

#include <cstdint>

#include "engine/grpc/transport_options.h"

namespace drover::engine {

class ConnectionLife {
 public:
  ConnectionLife(const TransportOptions& options, int64_t now_ns);

  enum class Due {
    kNothing,
    kPing,   // send one
    kGone,   // the peer does not answer: close it
    kDrain,  // it is old enough, or has been idle for long
    kEnd,    // its grace is over: close it with the calls that it has
  };
  // Call about once a second. `idle_since_ns`: when it last had a call; 0: it has one.
  Due check(int64_t now_ns, int64_t idle_since_ns);
  // Bytes came from the peer.
  void received(int64_t now_ns) { received_ns_ = now_ns; }

 private:
  const TransportOptions& options_;
  int64_t old_at_ns_;      // INT64_MAX: never
  int64_t ends_at_ns_;     // INT64_MAX: never
  int64_t received_ns_;    // when bytes last came
  int64_t pinged_ns_ = 0;  // when a PING went out that nothing has followed yet; 0: none is under way
  bool drained_ = false;
};

}  // namespace drover::engine
