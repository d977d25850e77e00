// SocketView: what one engine thread's transport tells about its sockets, for channelz. Everything is a copy: nothing
// that is returned refers to a connection.
// Thread-safety: none; the engine thread's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace drover::engine {

// Of one connection, since it was accepted. Times are CLOCK_MONOTONIC; 0: never.
struct SocketCounts {
  uint64_t streams_started = 0;
  uint64_t streams_failed = 0;  // that were reset, by either side
  uint64_t messages_sent = 0;   // handed to HTTP/2
  uint64_t messages_received = 0;
  uint64_t keepalives_sent = 0;
  int64_t last_stream_ns = 0;
  int64_t last_sent_ns = 0;
  int64_t last_received_ns = 0;
};

struct SocketFacts {
  SocketCounts counts;
  uint64_t streams_open = 0;
  int64_t send_window = 0;         // bytes that the client lets us send on the connection
  int64_t receive_window = 0;      // bytes that we let the client send on it
  std::string local, remote;       // addresses as describe_socket spells them; empty: not known
  std::string cipher;              // IANA's name of the TLS cipher suite; empty: cleartext, or still shaking hands
  std::string local_certificate;   // DER; empty: none
  std::string remote_certificate;  // the client's, likewise
};

struct SocketName {
  uint64_t number;     // of the connection on this thread, from 1 on; never used again
  std::string remote;  // address
};

class SocketView {
 public:
  // Appends connections that these listeners accepted, by number from `from` on, at most `most`. `listeners`: each
  // once. The cost grows with `most` and the number of listeners, not with the number of connections.
  virtual void list(std::span<const uint32_t> listeners, uint64_t from, size_t most,
                    std::vector<SocketName>* out) const = 0;
  // False: there is no such connection, or none of these listeners accepted it.
  virtual bool find(std::span<const uint32_t> listeners, uint64_t number, SocketFacts* out) const = 0;
  // Empty: it is not open.
  virtual std::string listener_address(uint32_t listener) const = 0;

 protected:
  ~SocketView() = default;
};

}  // namespace drover::engine
