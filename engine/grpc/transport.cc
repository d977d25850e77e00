#include "engine/grpc/transport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "channel/identity.h"
#include "engine/base/heap.h"
#include "engine/base/log.h"
#include "engine/net/socket_address.h"

namespace drover::engine {

namespace {

constexpr int64_t kSweepNs = 1'000'000'000;
constexpr int64_t kDrainSweepNs = 50'000'000;
constexpr int64_t kGoodbyeNs = 5'000'000'000;  // for TLS's last bytes
// Where connections run out, those that idle make room: this part of them at a time, and not more often.
constexpr size_t kMakeRoomPart = 64;
constexpr int64_t kMakeRoomNs = 100'000'000;
constexpr int64_t kMakeRoomIdleNs = 1'000'000'000;

// Where memory is over its limit, this part of the limit is made free. More would take longer than a turn may.
constexpr size_t kRelievedPart = 64;

constexpr std::string_view kHandshakesHelp = "TLS handshakes that ended well: full ones, and resumed sessions";

log::Limit g_refused_limit;
log::Limit g_tls_limit;

}  // namespace

Transport::Transport(EventLoop& loop, ThreadMetrics& metrics, const TransportOptions& options, TransportShared& shared)
    : loop_(loop),
      shared_(shared),
      context_(std::make_unique<GrpcContext>(options, metrics, loop.clock())),
      acceptor_(loop, *this),
      postponed_(metrics.counter("drover_work_postponed_total",
                                 "Times that a connection's input or output had to wait for a later turn")),
      handshakes_(metrics.counter("drover_tls_handshakes_total", kHandshakesHelp, {{"kind", "full"}})),
      handshakes_resumed_(metrics.counter("drover_tls_handshakes_total", kHandshakesHelp, {{"kind", "resumed"}})),
      tls_failed_(metrics.counter("drover_tls_failed_total",
                                  "Connections ended by a TLS handshake that failed or a record that is wrong")) {}

Transport::~Transport() {
  close_all();
  for (const Counter* one : {postponed_, handshakes_, handshakes_resumed_, tls_failed_}) {
    context_->metrics.remove(one);
  }
}

void Transport::set_sink(CallSink* sink) { context_->sink = sink; }

bool Transport::reply(Call& call, const Reply& reply) {
  CallStream& stream = static_cast<CallStream&>(call);
  GrpcConnection& connection = *stream.connection;
  const bool copied = GrpcConnection::reply(stream, reply);
  static_cast<Connection&>(connection.out()).mark_dirty();
  return copied;
}

void Transport::consumed(Call& call, size_t messages, size_t bytes) {
  CallStream& stream = static_cast<CallStream&>(call);
  GrpcConnection& connection = *stream.connection;
  connection.consumed(stream, messages, bytes);
  static_cast<Connection&>(connection.out()).mark_dirty();
}

void Transport::started(Call& call) {
  CallStream& stream = static_cast<CallStream&>(call);
  stream.connection->started(stream);
  static_cast<Connection&>(stream.connection->out()).mark_dirty();
}

void Transport::cut_off(Call& call) {
  CallStream& stream = static_cast<CallStream&>(call);
  GrpcConnection& connection = *stream.connection;
  connection.cut_off(stream);
  static_cast<Connection&>(connection.out()).mark_dirty();
}

void Transport::close_all() {
  while (!connections_.empty()) close(*connections_.front());
  for (Connection* connection : closed_) delete connection;
  closed_.clear();
  dirty_.clear();
  acceptor_.close_all();
}

// ---- Time.

bool Transport::go_on(size_t units) {
  Pace& pace = context_->scratch.pace;
  pace.spend(units);
  return pace.go_on();
}

bool Transport::may_work(size_t units) {
  Pace& pace = context_->scratch.pace;
  if (turn_ns_ != loop_.now_ns()) {
    turn_ns_ = loop_.now_ns();
    pace.run_until(turn_ns_ + kAtOnceNs);
  }
  pace.spend(units);
  return pace.go_on();
}

void Transport::wait_for_time(Connection& connection) {
  if (connection.waits()) return;
  postponed_->add();
  waiting_.add(connection, connection.share());
}

// Some of what waits. True: there is more of it.
bool Transport::work(Connection& connection, int64_t until_ns) {
  if (connection.ended()) {
    close(connection);
    return false;
  }
  context_->scratch.pace.run_until(until_ns);
  connection.work();
  if (!connection.established() && !connection.closed) charge(connection);  // a handshake may have nothing to write
  if (connection.dirty) {
    flush(connection);
    submit();
  }
  return connection.has_backlog() || connection.dirty;
}

// As work(), of compressed messages.
bool Transport::work_on_messages(Connection& connection, int64_t until_ns) {
  connection.http2.work_on_messages(until_ns);
  connection.mark_dirty();
  return connection.http2.has_messages_to_code();
}

void Transport::add_dirty(Connection& connection) {
  connection.dirty = true;
  if (!connection.waits()) dirty_.push_back(&connection);
}

// Until `end_ns`, or at least as much as is done between two looks at the clock.
void Transport::flush_dirty(int64_t end_ns) {
  flushing_.swap(dirty_);
  size_t connections = 0, bytes = 0;
  bool over = false;
  for (Connection* connection : flushing_) {
    if (over || connection->waits()) [[unlikely]] {
      if (!connection->closed) wait_for_time(*connection);
      continue;
    }
    flush(*connection);
    bytes += connection->http2.write_size();
    if (++connections < kWriteConnections && bytes < kWriteBytes) [[likely]]
      continue;
    submit();
    connections = bytes = 0;
    over = monotonic_ns() >= end_ns;
  }
  flushing_.clear();
  submit();
}

void Transport::flush(Connection& connection) {
  connection.dirty = false;
  if (connection.closed || connection.linger_until_ns != 0) return;
  if (connection.http2.has_messages_to_code()) [[unlikely]]
    coding_.add(connection.coding_turn, connection.http2.account().parent()->coding_share());
  if (!connection.ready_to_write()) {
    if (!connection.closed) charge(connection);
    return;
  }
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
  if (secure_scratch_) secure_scratch_->out.clear();
}

// After a write of `connection`, or when it has nothing to write.
void Transport::settle(Connection& connection, GrpcConnection::Flushed flushed) {
  if (connection.closed) return;
  if (flushed == GrpcConnection::Flushed::kBlocked) connection.want_writable();
  if (flushed == GrpcConnection::Flushed::kMore) connection.mark_dirty();
  if (connection.http2.finished()) {
    if (connection.http2.broken()) return close(connection);
    if (!connection.say_goodbye()) {
      connection.mark_dirty();
      return charge(connection);
    }
    connection.linger(context_->now_ns());
    next_sweep_ns_ = std::min(next_sweep_ns_, connection.linger_until_ns);
  }
  charge(connection);
}

void Transport::close(Connection& connection) {
  if (connection.closed) return;
  waiting_.remove(connection);
  coding_.remove(connection.coding_turn);
  connection.close();
  sockets_.remove(connection);
  connections_.erase(connection.place_in_list);
  closed_.push_back(&connection);
  shared_.connections.leave(connection.address());
  context_->metrics.connections->add(-1);
}

bool Transport::end_turn(int64_t now_ns) {
  if (now_ns >= acceptor_.resume_ns()) acceptor_.resume();
  if (now_ns >= next_sweep_ns_) sweep();
  flush_dirty(now_ns + kTurnNs);
  if (!waiting_.empty()) {
    waiting_.run(monotonic_ns() + kWaitingNs, [this](FairQueue::Member& member, int64_t until_ns) {
      return work(static_cast<Connection&>(member), until_ns);
    });
  }
  if (!coding_.empty()) [[unlikely]] {
    coding_.run(monotonic_ns() + kCodingNs, [](FairQueue::Member& member, int64_t until_ns) {
      return work_on_messages(static_cast<Connection::CodingTurn&>(member).connection, until_ns);
    });
  }
  if (!closed_.empty()) {
    for (Connection* connection : closed_) {
      std::erase(dirty_, connection);
      delete connection;
    }
    closed_.clear();
  }
  context_->free_dying();
  return !dirty_.empty() || !waiting_.empty() || !coding_.empty();
}

int64_t Transport::next_turn_ns() const { return std::min(next_sweep_ns_, acceptor_.resume_ns()); }

// About once a second for each connection: those that it finds no time for have their turn next.
void Transport::sweep() {
  if (to_sweep_ == 0) {
    context_->ledger.update();
    context_->shrink();
    to_sweep_ = connections_.size();
  }
  const int64_t end = monotonic_ns() + kSweepSliceNs;
  for (; to_sweep_ > 0 && !connections_.empty(); --to_sweep_) {
    if (monotonic_ns() >= end) return;
    Connection& connection = *connections_.front();
    connections_.splice(connections_.end(), connections_, connections_.begin());
    try {
      check_time(connection);
    } catch (const std::bad_alloc&) {  // next time
    }
  }
  to_sweep_ = 0;
  next_sweep_ns_ = connections_.empty() ? kNoDeadline : context_->now_ns() + (draining_ ? kDrainSweepNs : kSweepNs);
}

void Transport::check_time(Connection& connection) {
  if (connection.linger_until_ns != 0) {
    if (context_->now_ns() >= connection.linger_until_ns) close(connection);
    return;
  }
  const TransportOptions& options = context_->options;
  const int64_t now = context_->now_ns();
  if (!connection.established()) {
    // Its time counts while it waits for us, too: no other bounds how many there are.
    if (now - connection.opened_ns > options.tls_handshake_timeout_ns)
      fail_tls(connection, "the handshake took too long");
    return;
  }
  const int64_t patience = connection.http2.finished() ? kGoodbyeNs : options.stall_timeout_ns;
  if (connection.stalled(now, patience, options.least_rate)) return close(connection);
  if (connection.has_backlog()) return;  // it is we who make it wait
  // Its calls would end in UNAVAILABLE for as long as it lives, also when another listener has the address.
  if (!acceptor_.listens(connection.http2.listener())) connection.http2.drain();
  if (connection.http2.idle()) connection.shrink();
  connection.http2.sweep();
  connection.mark_dirty();
}

// ---- Budgets.

void Transport::charge(Connection& connection) {
  Account& account = connection.http2.account();
  account.measure(connection.memory());
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
  struct Holder {
    size_t address, own;  // bytes
    Connection* connection;
    bool operator<(const Holder& other) const {
      return address != other.address ? address < other.address : own < other.own;
    }
  };
  auto held = [](const Account& account) { return account.held(Resource::kMemory); };
  std::vector<Holder> holders;
  for (Connection* connection : connections_) {
    const Account& account = connection->http2.account();
    for (const Account* one = &account; one != nullptr; one = one->parent()) {
      if (one == &over) holders.push_back({held(*account.parent()), held(account), connection});
    }
  }
  std::make_heap(holders.begin(), holders.end());
  const size_t limit = over.limit(Resource::kMemory);
  while (!holders.empty() && held(over) > limit - limit / kRelievedPart) {
    std::pop_heap(holders.begin(), holders.end());
    Connection* connection = holders.back().connection;
    holders.pop_back();
    context_->ledger.count_cut_off(over.level());
    if (!connection->established()) {
      close(*connection);
      connection->http2.account().measure(0);
      continue;
    }
    connection->http2.cut_off("more memory is held for this " + std::string(level_name(over.level())) +
                              " than its budget");
    connection->drop_backlog();
    connection->http2.account().measure(connection->memory());
    connection->mark_dirty();
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
    if (!idle[i]->established()) {
      close(*idle[i]);
      continue;
    }
    idle[i]->http2.drain();
    idle[i]->mark_dirty();
  }
}

// ---- TLS.

bool Transport::open(Connection& connection, Accepted& accepted) {
  if (accepted.tls == nullptr) return connection.open(loop_.io(), std::move(accepted.fd));
  if (!secure_scratch_) secure_scratch_ = std::make_unique<tls::Scratch>();
  return connection.open(loop_.io(), std::move(accepted.fd), accepted.tls->context(), *secure_scratch_);
}

void Transport::opened(Connection& connection) {
  const tls::Session& session = connection.secure()->session();
  (session.resumed() ? handshakes_resumed_ : handshakes_)->add();
  try {
    tls::Properties properties;
    if (!session.properties(&properties)) return fail_tls(connection, "the client's certificate has too many names");
    connection.http2.set_identity(pack_identity(properties));
  } catch (const std::bad_alloc&) {  // nothing must be done in the name of a peer that is not known
    return close(connection);
  }
  connection.mark_dirty();
  charge(connection);
}

void Transport::fail_tls(Connection& connection, std::string_view why) {
  tls_failed_->add();
  log::info(g_tls_limit, "TLS failed", {{"peer", connection.http2.peer().address}, {"why", why}});
  close(connection);
}

// ---- Connections.

void Transport::adopt_connection(Accepted accepted) {
  std::string& peer = accepted.peer;
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
    made = std::make_unique<Connection>(static_cast<ConnectionOwner&>(*this), *context_, std::move(peer),
                                        accepted.listener);
    for (auto* list : {&dirty_, &flushing_, &closed_})
      heap::reserve(*list, connections_.size() + 1);  // no list needs more
    sockets_.add(*made);
    try {
      made->place_in_list = connections_.insert(connections_.end(), made.get());
    } catch (...) {
      sockets_.remove(*made);
      throw;
    }
  } catch (...) {
    shared_.connections.leave(address);
    throw;
  }
  Connection* connection = made.release();
  context_->metrics.connections->add(1);
  context_->metrics.connections_accepted->add();
  if (next_sweep_ns_ == kNoDeadline) next_sweep_ns_ = context_->now_ns() + kSweepNs;
  if (!open(*connection, accepted)) {
    log::error(g_refused_limit, "cannot watch a connection", {{"why", std::strerror(errno)}});
    return close(*connection);
  }
  connection->mark_dirty();  // our SETTINGS
}

void Transport::drain() {
  if (draining_) return;
  draining_ = true;
  acceptor_.stop();
  for (auto next = connections_.begin(); next != connections_.end();) {
    Connection* connection = *next++;
    if (!connection->established()) {
      close(*connection);
      continue;
    }
    connection->http2.drain();
    connection->mark_dirty();
  }
  next_sweep_ns_ = context_->now_ns();
}

}  // namespace drover::engine
