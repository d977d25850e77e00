// Sockets of one engine thread: listeners and gRPC-over-HTTP/2 connections. Speaks to the dispatcher through
// call.h only. `Listeners` is the process-wide front: it opens an address on every engine thread (SO_REUSEPORT), so
// that the kernel spreads connections over them.
//
//   main:       EventLoop loop; ThreadMetrics metrics; Transport transport(loop, metrics, options, shared);
//               Dispatcher dispatcher(transport /* a ReplySink */, metrics, ...); transport.set_sink(&dispatcher);
//               loop.run(&dispatcher, &transport, &metrics);
//   control:    listeners.listen("0.0.0.0:50051", listener_id)
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/call.h"
#include "engine/event_loop.h"
#include "engine/metrics.h"
#include "object/unique_fd.h"

namespace drover::engine {

struct TransportOptions {
  uint32_t max_connections = 10'000;       // of the whole engine
  uint32_t max_concurrent_streams = 1000;  // a connection
  uint32_t max_header_bytes = 16 << 10;    // of one request, counted as HTTP/2 does (name + value + 32)
  uint32_t stream_window = 4 << 20;        // bytes
  uint32_t connection_window = 16 << 20;
  uint32_t reset_burst = 10'000;  // streams that a peer may cancel at once, and then a second
  uint32_t reset_rate = 2'000;
  uint32_t control_frame_rate = 10'000;  // PING, SETTINGS, PRIORITY, empty DATA ... a second, twice that at once
  int64_t handshake_timeout_ns = 20'000'000'000;  // for the preface and the first SETTINGS
  int64_t idle_timeout_ns = 0;                    // connections without a stream; 0: never closed
  int64_t stall_timeout_ns = 60'000'000'000;      // a request or a reply that does not move; 0: wait for ever
  size_t receive_buffer = 256 << 10;
};

// What the engine threads' transports share.
struct TransportShared {
  std::atomic<uint32_t> connections{0};
};

class TransportImpl;  // engine/transport.cc

class Transport final : public ReplySink, public TurnEnd {
 public:
  Transport(EventLoop& loop, ThreadMetrics& metrics, const TransportOptions& options, TransportShared& shared);
  ~Transport();  // as close_all

  // Must be called once, before the loop runs.
  void set_sink(CallSink* sink);

  // ReplySink. Loop's thread.
  void reply(Call& call, const Reply& reply) override;

  // TurnEnd.
  bool end_turn(int64_t now_ns) override;
  int64_t next_turn_ns() const override;

  // Loop's thread: starts to accept on `fd` (bound, listening, non-blocking); its calls carry `listener`.
  void adopt_listener(UniqueFd fd, uint32_t listener);
  void close_listener(uint32_t listener);
  // Loop's thread: takes over an accepted socket.
  void adopt_connection(UniqueFd fd, std::string peer, uint32_t listener);

  // Loop's thread. Closes the listeners and asks every connection's peer to go (GOAWAY); connections close as their
  // calls end.
  void drain();
  bool drained() const;
  // Closes every connection and listener at once; the calls are abandoned. The loop no longer runs, or is about to end.
  void close_all();

 private:
  std::unique_ptr<TransportImpl> impl_;
};

// One engine thread, as others see it.
struct EngineThreadRef {
  EventLoop* loop;
  Transport* transport;
};

struct Listening {
  uint16_t port = 0;  // bound port (0 for unix sockets)
  std::string error;  // not empty: nothing was opened, and why
};

// Opens and closes addresses on all engine threads. Thread-safe; does not wait for the engine threads.
class Listeners {
 public:
  explicit Listeners(std::vector<EngineThreadRef> threads) : threads_(std::move(threads)) {}

  // `address` as gRPC's AddListeningPort takes it: "host:port", "[v6]:port", "ipv4:...", "ipv6:...", "dns:///...",
  // "unix:path", "unix-abstract:name". Port 0 picks one. 0.0.0.0 and [::] listen on IPv4 and IPv6 alike. Asking
  // again for an id that is open returns its port. An address that another socket listens on is an error.
  Listening listen(std::string_view address, uint32_t listener);
  void close(uint32_t listener);

 private:
  struct Open {
    uint32_t id;
    std::string address;
    uint16_t port;
    std::string unlink_path;
  };
  const std::vector<EngineThreadRef> threads_;
  std::mutex mutex_;
  std::vector<Open> open_;
};

}  // namespace drover::engine
