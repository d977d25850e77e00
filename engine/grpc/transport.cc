#include "engine/grpc/transport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "engine/base/heap.h"
#include "engine/base/log.h"
#include "engine/net/byte_stream.h"
#include "engine/net/socket_address.h"

namespace drover::engine {

namespace {

constexpr int64_t kSweepNs = 1'000'000'000;
constexpr int64_t kDrainSweepNs = 50'000'000;
// A connection that we end is read for so long, and so far, so that GOAWAY arrives.
constexpr int64_t kLingerNs = 1'000'000'000;
constexpr size_t kLingerBytes = 256 << 10;

// Where connections run out, those that idle make room: this part of them at a time, and not more often.
constexpr size_t kMakeRoomPart = 64;
constexpr int64_t kMakeRoomNs = 100'000'000;
constexpr int64_t kMakeRoomIdleNs = 1'000'000'000;

log::Limit g_refused_limit;

}  // namespace

class Transport::Connection final : public StreamHandler, public ByteSink {
 public:
  Connection(Transport& transport, std::string peer, uint32_t listener)
      : http2(*transport.context_, *this, Peer{std::move(peer), {}}, listener), transport_(transport) {}
  // As Account::name.
  const std::string& address() const { return http2.account().parent()->name(); }

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
  int64_t linger_until_ns = 0;

 private:
  void on_bytes(const char* bytes, size_t size) override {
    if (closed) return;
    if (linger_until_ns != 0) {
      lingered_ += size;
      if (lingered_ > kLingerBytes) transport_.close(*this);
      return;
    }
    http2.receive(bytes, size);
    transport_.mark_dirty(*this);
  }
  std::span<char> place() override { return closed || linger_until_ns != 0 ? std::span<char>() : http2.receive_into(); }
  void on_end(int) override { transport_.close(*this); }
  void on_writable() override { transport_.mark_dirty(*this); }
  void on_written(ssize_t result) override { transport_.settle(*this, http2.written(result)); }

  Transport& transport_;
  std::unique_ptr<ByteStream> stream_;
  size_t lingered_ = 0;  // bytes that were read and dropped
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

void Transport::started(Call& call) {
  CallStream& stream = static_cast<CallStream&>(call);
  stream.connection->started(stream);
  mark_dirty(static_cast<Connection&>(stream.connection->out()));
}

void Transport::cut_off(Call& call) {
  CallStream& stream = static_cast<CallStream&>(call);
  GrpcConnection& connection = *stream.connection;
  connection.cut_off(stream);
  mark_dirty(static_cast<Connection&>(connection.out()));
}

void Transport::close_all() {
  while (!connections_.empty()) close(**connections_.begin());
  for (Connection* connection : closed_) delete connection;
  closed_.clear();
  dirty_.clear();
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
  charge(connection);
}

void Transport::close(Connection& connection) {
  if (connection.closed) return;
  connection.close();
  connections_.erase(&connection);
  closed_.push_back(&connection);
  shared_.connections.leave(connection.address());
  context_->metrics.connections->add(-1);
}

bool Transport::end_turn(int64_t now_ns) {
  if (now_ns >= acceptor_.resume_ns()) acceptor_.resume();
  if (now_ns >= next_sweep_ns_) sweep();
  flushing_.swap(dirty_);
  for (Connection* connection : flushing_) flush(*connection);
  flushing_.clear();
  submit();
  if (!closed_.empty()) {
    for (Connection* connection : closed_) {
      std::erase(dirty_, connection);
      delete connection;
    }
    closed_.clear();
  }
  return !dirty_.empty();
}

int64_t Transport::next_turn_ns() const { return std::min(next_sweep_ns_, acceptor_.resume_ns()); }

void Transport::sweep() {
  try {
    check_time();
  } catch (const std::bad_alloc&) {  // next time
  }
  next_sweep_ns_ = connections_.empty() ? kNoDeadline : context_->now_ns() + (draining_ ? kDrainSweepNs : kSweepNs);
}

void Transport::check_time() {
  int64_t now = context_->now_ns();
  context_->ledger.update();
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
}

// ---- Budgets.

void Transport::charge(Connection& connection) {
  Account& account = connection.http2.account();
  account.measure(connection.http2.memory());
  Account* over = account.over();
  if (over == nullptr) [[likely]]
    return;
  try {
    relieve(*over);
  } catch (const std::bad_alloc&) {
    connection.http2.cut_off("no memory");
  }
}

// Cuts off the connections that hold the most, of the address that holds the most, until `over` is well below its
// limit.
void Transport::relieve(Account& over) {
  std::vector<Connection*> inside;
  for (Connection* connection : connections_) {
    for (const Account* one = &connection->http2.account(); one != nullptr; one = one->parent()) {
      if (one == &over) inside.push_back(connection);
    }
  }
  auto held = [](const Account& account) { return account.held(Resource::kMemory); };
  std::sort(inside.begin(), inside.end(), [&](const Connection* a, const Connection* b) {
    const Account &x = a->http2.account(), &y = b->http2.account();
    if (x.parent() != y.parent() && held(*x.parent()) != held(*y.parent()))
      return held(*x.parent()) > held(*y.parent());
    return held(x) > held(y);
  });
  const size_t limit = over.limit(Resource::kMemory);
  size_t left = held(over);
  for (Connection* connection : inside) {
    if (left <= limit - limit / 8) break;
    left -= held(connection->http2.account());
    context_->ledger.count_cut_off(over.level());
    connection->http2.cut_off("more memory is held for this " + std::string(level_name(over.level())) +
                              " than its budget");
    mark_dirty(*connection);
  }
}

// Connections that idle, the longest first, are asked to go.
void Transport::make_room(const std::string& address, bool of_address) {
  const int64_t now = context_->now_ns();
  if (now < next_make_room_ns_) return;
  next_make_room_ns_ = now + kMakeRoomNs;
  std::vector<Connection*> idle;
  for (Connection* connection : connections_) {
    if (of_address && connection->address() != address) continue;
    const GrpcConnection& http2 = connection->http2;
    if (http2.idle() && now - http2.idle_since_ns() >= kMakeRoomIdleNs) idle.push_back(connection);
  }
  const size_t going = std::min(idle.size(), connections_.size() / kMakeRoomPart + 1);
  std::nth_element(
      idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(going), idle.end(),
      [](const Connection* a, const Connection* b) { return a->http2.idle_since_ns() < b->http2.idle_since_ns(); });
  for (size_t i = 0; i < going; ++i) {
    idle[i]->http2.drain();
    mark_dirty(*idle[i]);
  }
}

void Transport::adopt_connection(UniqueFd fd, std::string peer, uint32_t listener) {
  const TransportOptions& options = context_->options;
  const std::string address = network_of(peer);
  const ConnectionCount::Entry entry =
      shared_.connections.enter(address, options.max_connections, options.max_connections_per_address);
  if (entry != ConnectionCount::Entry::kTaken) {
    const bool of_address = entry == ConnectionCount::Entry::kAddressFull;
    context_->metrics.connections_refused->add();
    log::warn(g_refused_limit,
              of_address ? "connection refused: limits.max_connections_per_address reached"
                         : "connection refused: limits.max_connections reached",
              {{"peer", peer}, {"max", of_address ? options.max_connections_per_address : options.max_connections}});
    return make_room(address, of_address);
  }
  std::unique_ptr<Connection> made;
  try {
    made = std::make_unique<Connection>(*this, std::move(peer), listener);
    for (auto* list : {&dirty_, &flushing_, &closed_})
      heap::reserve(*list, connections_.size() + 1);  // no list needs more
    connections_.insert(made.get());
  } catch (...) {
    shared_.connections.leave(address);
    throw;
  }
  Connection* connection = made.release();
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
