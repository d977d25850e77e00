// gRPC over HTTP/2 on one engine thread: its connections, what they send at the end of each turn, their time-outs,
// and how they are drained. Speaks to the dispatcher through engine/call/call.h only.
//
//   EventLoop --readable--> Connection: ByteStream -> GrpcConnection -> CallSink (dispatcher)
//   dispatcher --reply----> GrpcConnection, marked dirty --end_turn--> ByteStream, one write a connection and turn,
//                           carried out together (Io::submit)
//
// When a listener closes, those that it accepted are asked to go within about a second: their clients come back to
// what listens at the address then.
//
// A turn takes a bounded time, whatever clients ask. Input is worked upon, and replies are written, as they come until
// the turn has lasted for kAtOnceNs or kTurnNs. What is left waits in a FairQueue, in which addresses have equal shares
// of time; it has kWaitingNs of each turn. Messages to be compressed or decompressed wait in a queue of their own, with
// kCodingNs of each turn.
//
// Thread-safety: everything on the loop's thread, or before it runs.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/fair_queue.h"
#include "engine/base/metrics.h"
#include "engine/call/call.h"
#include "engine/grpc/grpc_connection.h"
#include "engine/grpc/grpc_context.h"
#include "engine/grpc/socket_index.h"
#include "engine/grpc/transport_connection.h"
#include "engine/grpc/transport_options.h"
#include "engine/net/acceptor.h"
#include "engine/net/connection_count.h"
#include "engine/net/event_loop.h"
#include "object/unique_fd.h"

namespace drover::engine {

// What the engine threads' transports share.
struct TransportShared {
  ConnectionCount connections;
};

class Transport final : public ReplySink, public TurnEnd, public ConnectionSink, private ConnectionOwner {
 public:
  Transport(EventLoop& loop, ThreadMetrics& metrics, const TransportOptions& options, TransportShared& shared);
  ~Transport();  // as close_all

  // Must be called once, before the loop runs.
  void set_sink(CallSink* sink);
  // As GrpcContext's function, before the loop runs.
  void check_tokens(auth::TokenChecker& checker) { context_->check_tokens(checker); }
  // Calls get spans; `tracer` outlives it. Before the loop runs.
  void make_spans(trace::Tracer& tracer) { context_->tracer = &tracer; }
  // Calls go to the binary log; `logger` outlives it. Before the loop runs.
  void log_calls(binary_log::CallLogger& logger) { context_->log = &logger; }
  // The thread's listening sockets, for Listeners.
  Acceptor& acceptor() { return acceptor_; }
  const SocketView& sockets() const { return sockets_; }

  // ReplySink.
  bool reply(Call& call, const Reply& reply) override;
  void consumed(Call& call, size_t messages, size_t bytes) override;
  void started(Call& call) override;
  void cut_off(Call& call) override;

  // TurnEnd.
  bool end_turn(int64_t now_ns) override;
  int64_t next_turn_ns() const override;

  // ConnectionSink.
  void adopt_connection(Accepted accepted) override;

  // Closes the listeners and asks every connection's peer to go (GOAWAY); connections close as their calls end.
  void drain();
  bool drained() const { return draining_ && connections_.empty(); }
  // Closes every connection and listener at once; the calls are abandoned. The loop no longer runs, or is about to end.
  void close_all();

 private:
  using Connection = TransportConnection;

  // Of a turn, counted from its start: for input, and for writing. Each does a little at least.
  static constexpr int64_t kAtOnceNs = 500'000;
  static constexpr int64_t kTurnNs = 1'000'000;
  // Of a turn: for what waits, and for time-outs.
  static constexpr int64_t kWaitingNs = 500'000;
  // Of a turn: for compressed messages that found no time as they came.
  static constexpr int64_t kCodingNs = 500'000;
  static constexpr int64_t kSweepSliceNs = 200'000;
  // Written between two looks at the clock.
  static constexpr size_t kWriteConnections = 32;
  static constexpr size_t kWriteBytes = 256 << 10;

  // ConnectionOwner.
  bool may_work(size_t units) override;
  bool go_on(size_t units) override;
  void wait_for_time(Connection& connection) override;
  void add_dirty(Connection& connection) override;
  void settle(Connection& connection, GrpcConnection::Flushed flushed) override;
  void charge(Connection& connection) override;
  void close(Connection& connection) override;
  void opened(Connection& connection) override;
  void fail_tls(Connection& connection, std::string_view why) override;

  bool work(Connection& connection, int64_t until_ns);
  static bool work_on_messages(Connection& connection, int64_t until_ns);
  void flush_dirty(int64_t end_ns);
  void flush(Connection& connection);
  void submit();
  void sweep();
  void check_time(Connection& connection);
  void relieve(Account& over);
  void make_room(const std::string& address, bool of_address);
  bool open(Connection& connection, Accepted& accepted);

  EventLoop& loop_;
  TransportShared& shared_;
  std::unique_ptr<GrpcContext> context_;
  Acceptor acceptor_;
  SocketIndex sockets_{acceptor_};

  std::list<Connection*> connections_;  // a sweep moves each from the front to the back
  size_t to_sweep_ = 0;                 // of those at the front
  std::vector<Connection*> dirty_;
  std::vector<Connection*> flushing_;
  FairQueue waiting_;
  FairQueue coding_;
  int64_t turn_ns_ = 0;              // the turn that the scratch memory's pace is set for
  std::vector<Connection*> closed_;  // destroyed at the end of the turn: events of this turn may name them
  int64_t next_sweep_ns_ = kNoDeadline;
  int64_t next_make_room_ns_ = 0;
  bool draining_ = false;
  Counter* const postponed_;
  // Of TLS connections; made with the first one.
  std::unique_ptr<tls::Scratch> secure_scratch_;
  Counter* const handshakes_;
  Counter* const handshakes_resumed_;
  Counter* const tls_failed_;
};

}  // namespace drover::engine
