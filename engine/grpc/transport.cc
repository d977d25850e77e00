#include "engine/grpc/transport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/log.h"
#include "engine/net/byte_stream.h"

namespace drover::engine {

namespace {

constexpr int64_t kSweepNs = 1'000'000'000;
constexpr int64_t kDrainSweepNs = 50'000'000;
constexpr int64_t kHeldRetryNs = 200'000;     // how often a held window is looked at again
constexpr int64_t kLingerNs = 1'000'000'000;  // how long a connection that we end is read, so that GOAWAY arrives

log::Limit g_refused_limit;

}  // namespace

class Transport::Connection final : public StreamHandler, public ByteSink {
 public:
  Connection(Transport& transport, std::string peer, uint32_t listener)
      : http2(*transport.context_, *this, Peer{std::move(peer), {}}, listener), transport_(transport) {}

  // Before anything else. False: errno says why.
  bool open(UniqueFd socket) {
    stream_ = transport_.loop_.io().open_stream(std::move(socket), *this);
    return stream_ != nullptr;
  }
  void close() {
    closed = true;
    if (stream_) stream_->close();
  }
  ssize_t write(const iovec* parts, size_t count) override { return stream_->write(parts, count); }
  void want_writable() { stream_->want_writable(); }
  // We end it: no more is written; what the peer still sends is read and dropped, so that it sees the GOAWAY.
  void linger(int64_t now_ns) {
    stream_->end_writes();
    linger_until_ns = now_ns + kLingerNs;
  }

  GrpcConnection http2;
  bool closed = false;
  bool dirty = false;
  bool holding = false;
  int64_t linger_until_ns = 0;

 private:
  void on_bytes(const char* bytes, size_t size) override {
    if (closed || linger_until_ns != 0) return;
    http2.receive(bytes, size);
    transport_.mark_dirty(*this);
  }
  std::span<char> place() override { return closed || linger_until_ns != 0 ? std::span<char>() : http2.receive_into(); }
  void on_end(int) override { transport_.close(*this); }
  void on_writable() override { transport_.mark_dirty(*this); }
  void on_written(ssize_t result) override { transport_.settle(*this, http2.written(result)); }

  Transport& transport_;
  std::unique_ptr<ByteStream> stream_;
};

Transport::Transport(EventLoop& loop, ThreadMetrics& metrics, const TransportOptions& options, TransportShared& shared)
    : loop_(loop),
      shared_(shared),
      context_(std::make_unique<GrpcContext>(options, metrics, loop.clock())),
      acceptor_(loop, *this) {}

Transport::~Transport() { close_all(); }

void Transport::set_sink(CallSink* sink) { context_->sink = sink; }

void Transport::reply(Call& call, const Reply& reply) {
  CallStream& stream = static_cast<CallStream&>(call);
  GrpcConnection& connection = *stream.connection;
  GrpcConnection::reply(stream, reply);
  mark_dirty(static_cast<Connection&>(connection.out()));
}

void Transport::close_all() {
  while (!connections_.empty()) close(**connections_.begin());
  for (Connection* connection : closed_) delete connection;
  closed_.clear();
  dirty_.clear();
  holding_.clear();
  acceptor_.close_all();
}

void Transport::mark_dirty(Connection& connection) {
  if (connection.dirty || connection.closed) return;
  connection.dirty = true;
  dirty_.push_back(&connection);
}

void Transport::flush(Connection& connection) {
  connection.dirty = false;
  if (connection.closed || connection.linger_until_ns != 0) return;
  GrpcConnection::Flushed flushed = connection.http2.flush();
  if (flushed == GrpcConnection::Flushed::kNoRoom) {
    submit();
    flushed = connection.http2.flush();
  }
  if (flushed != GrpcConnection::Flushed::kQueued) settle(connection, flushed);
}

// Carries out the queued writes: the batch is free again.
void Transport::submit() {
  loop_.io().submit();
  context_->batch.clear();
}

// After a write of `connection`, or when it has nothing to write.
void Transport::settle(Connection& connection, GrpcConnection::Flushed flushed) {
  if (connection.closed) return;
  if (flushed == GrpcConnection::Flushed::kBlocked) connection.want_writable();
  if (flushed == GrpcConnection::Flushed::kMore) mark_dirty(connection);
  if (connection.http2.finished()) {
    if (connection.http2.broken()) return close(connection);
    connection.linger(context_->now_ns());
    next_sweep_ns_ = std::min(next_sweep_ns_, connection.linger_until_ns);
  }
  if (connection.http2.holds_window() && !connection.holding) {
    connection.holding = true;
    holding_.push_back(&connection);
    next_held_ns_ = std::min(next_held_ns_, context_->now_ns() + kHeldRetryNs);
  }
}

void Transport::close(Connection& connection) {
  if (connection.closed) return;
  connection.close();
  connections_.erase(&connection);
  closed_.push_back(&connection);
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
  context_->metrics.connections->add(-1);
  if (connections_.empty()) next_sweep_ns_ = kNoDeadline;
}

bool Transport::end_turn(int64_t now_ns) {
  if (now_ns >= next_held_ns_) retry_held();
  if (now_ns >= acceptor_.resume_ns()) acceptor_.resume();
  if (now_ns >= next_sweep_ns_) sweep();
  flushing_.swap(dirty_);
  for (Connection* connection : flushing_) flush(*connection);
  flushing_.clear();
  submit();
  if (!closed_.empty()) {
    for (Connection* connection : closed_) {
      std::erase(dirty_, connection);
      std::erase(holding_, connection);
      delete connection;
    }
    closed_.clear();
  }
  return !dirty_.empty();
}

int64_t Transport::next_turn_ns() const { return std::min({next_sweep_ns_, next_held_ns_, acceptor_.resume_ns()}); }

void Transport::retry_held() {
  next_held_ns_ = kNoDeadline;
  std::erase_if(holding_, [&](Connection* connection) {
    if (connection->closed) return true;
    connection->holding = connection->http2.release_held();
    mark_dirty(*connection);
    return !connection->holding;
  });
  if (!holding_.empty()) next_held_ns_ = context_->now_ns() + kHeldRetryNs;
}

void Transport::sweep() {
  int64_t now = context_->now_ns();
  std::vector<Connection*> over;
  for (Connection* connection : connections_) {
    if (connection->linger_until_ns != 0) {
      if (now >= connection->linger_until_ns) over.push_back(connection);
      continue;
    }
    connection->http2.sweep();
    mark_dirty(*connection);
  }
  for (Connection* connection : over) close(*connection);
  next_sweep_ns_ = connections_.empty() ? kNoDeadline : now + (draining_ ? kDrainSweepNs : kSweepNs);
}

void Transport::adopt_connection(UniqueFd fd, std::string peer, uint32_t listener) {
  uint32_t before = shared_.connections.fetch_add(1, std::memory_order_relaxed);
  if (before >= context_->options.max_connections) {
    shared_.connections.fetch_sub(1, std::memory_order_relaxed);
    context_->metrics.connections_refused->add();
    log::warn(g_refused_limit, "connection refused: limits.max_connections reached",
              {{"peer", peer}, {"max", context_->options.max_connections}});
    return;
  }
  auto* connection = new Connection(*this, std::move(peer), listener);
  connections_.insert(connection);
  context_->metrics.connections->add(1);
  context_->metrics.connections_accepted->add();
  if (next_sweep_ns_ == kNoDeadline) next_sweep_ns_ = context_->now_ns() + kSweepNs;
  if (!connection->open(std::move(fd))) {
    log::error(g_refused_limit, "cannot watch a connection", {{"why", std::strerror(errno)}});
    return close(*connection);
  }
  mark_dirty(*connection);  // our SETTINGS
}

void Transport::drain() {
  if (draining_) return;
  draining_ = true;
  acceptor_.stop();
  for (Connection* connection : connections_) {
    connection->http2.drain();
    mark_dirty(*connection);
  }
  next_sweep_ns_ = context_->now_ns();
}

}  // namespace drover::engine
