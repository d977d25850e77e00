// Sockets of an engine thread. A SocketConnection joins a descriptor to an Http2Connection; a Listener accepts.
#include "engine/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "engine/http2_connection.h"
#include "engine/log.h"
#include "engine/socket_address.h"

namespace drover::engine {

namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr int64_t kSweepNs = 1'000'000'000;
constexpr int64_t kDrainSweepNs = 50'000'000;
constexpr int64_t kHeldRetryNs = 200'000;     // how often a held window is looked at again
constexpr int64_t kLingerNs = 1'000'000'000;  // how long a connection that we end is read, so that GOAWAY arrives
constexpr int64_t kAcceptPauseNs = 100'000'000;

log::Limit g_accept_limit;

class SocketConnection;

}  // namespace

class TransportImpl {
 public:
  TransportImpl(EventLoop& loop, ThreadMetrics& metrics, const TransportOptions& options, TransportShared& shared,
                const int64_t* now)
      : loop_(loop),
        shared_(shared),
        context_(options, metrics, now),
        receive_buffer_(new char[options.receive_buffer]) {}
  ~TransportImpl();

  void mark_dirty(SocketConnection& connection);
  void flush(SocketConnection& connection);
  void close(SocketConnection& connection);
  bool end_turn(int64_t now_ns);
  int64_t next_turn_ns() const;
  void adopt_listener(UniqueFd fd, uint32_t id);
  void close_listener(uint32_t id);
  void adopt_connection(UniqueFd fd, std::string peer, uint32_t listener);
  void drain();
  void close_all();
  bool drained() const { return draining_ && connections_.empty(); }

  EventLoop& loop_;
  TransportShared& shared_;
  Http2Context context_;
  const std::unique_ptr<char[]> receive_buffer_;

 private:
  struct Listener final : FdHandler {
    Listener(TransportImpl& t, UniqueFd f, uint32_t i) : transport(t), fd(std::move(f)), id(i) {}
    void on_ready(uint32_t) override;
    TransportImpl& transport;
    UniqueFd fd;
    uint32_t id;
    bool paused = false;
  };

  void sweep();
  void retry_held();
  void pause_accepting(Listener& listener);

  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_set<SocketConnection*> connections_;
  std::vector<SocketConnection*> dirty_;
  std::vector<SocketConnection*> flushing_;
  std::vector<SocketConnection*> closed_;  // destroyed at the end of the turn: events of this turn may name them
  std::vector<SocketConnection*> holding_;
  int64_t next_sweep_ns_ = kNoDeadline;
  int64_t next_held_ns_ = kNoDeadline;
  int64_t resume_accept_ns_ = kNoDeadline;
  bool draining_ = false;
};

namespace {

class SocketConnection final : public FdHandler, public ByteSink {
 public:
  SocketConnection(TransportImpl& transport, UniqueFd fd, std::string peer, uint32_t listener)
      : http2(transport.context_, *this, std::move(peer), listener), transport_(transport), fd_(std::move(fd)) {}

  void on_ready(uint32_t events) override {
    if (closed) return;
    if (events & EPOLLOUT) {
      wants_writable(false);
      transport_.mark_dirty(*this);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read();
  }

  ssize_t write(const iovec* parts, size_t count) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = std::min<size_t>(count, IOV_MAX);
    ssize_t n;
    do {
      n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n;
  }

  void wants_writable(bool wanted) {
    if (wanted == writable_wanted_) return;
    writable_wanted_ = wanted;
    transport_.loop_.modify(fd_.get(), EPOLLIN | (wanted ? EPOLLOUT : 0u), this);
  }

  // We end it: no more is written; what the peer still sends is read and dropped, so that it sees the GOAWAY.
  void linger(int64_t now_ns) {
    ::shutdown(fd_.get(), SHUT_WR);
    linger_until_ns = now_ns + kLingerNs;
  }
  int fd() const { return fd_.get(); }

  Http2Connection http2;
  bool closed = false;
  bool dirty = false;
  bool broken = false;  // the socket ended or failed
  bool holding = false;
  int64_t linger_until_ns = 0;

 private:
  void read() {
    TransportImpl& t = transport_;
    char* buffer = t.receive_buffer_.get();
    size_t size = t.context_.options.receive_buffer;
    ssize_t n;
    do {
      n = ::recv(fd_.get(), buffer, size, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      broken = true;
      t.close(*this);
      return;
    }
    if (linger_until_ns != 0) return;
    http2.receive(buffer, static_cast<size_t>(n));
    t.mark_dirty(*this);
  }

  TransportImpl& transport_;
  UniqueFd fd_;
  bool writable_wanted_ = false;
};

}  // namespace

TransportImpl::~TransportImpl() { close_all(); }

void TransportImpl::close_all() {
  while (!connections_.empty()) close(**connections_.begin());
  for (SocketConnection* connection : closed_) delete connection;
  closed_.clear();
  dirty_.clear();
  holding_.clear();
  for (auto& listener : listeners_) loop_.remove(listener->fd.get());
  listeners_.clear();
}

void TransportImpl::mark_dirty(SocketConnection& connection) {
  if (connection.dirty || connection.closed) return;
  connection.dirty = true;
  dirty_.push_back(&connection);
}

void TransportImpl::flush(SocketConnection& connection) {
  connection.dirty = false;
  if (connection.closed || connection.linger_until_ns != 0) return;
  switch (connection.http2.flush()) {
    case Http2Connection::Flushed::kBlocked:
      connection.wants_writable(true);
      break;
    case Http2Connection::Flushed::kMore:
      mark_dirty(connection);
      break;
    case Http2Connection::Flushed::kDone:
      break;
  }
  if (connection.http2.finished()) {
    if (connection.http2.broken()) return close(connection);
    connection.linger(context_.now_ns());
    next_sweep_ns_ = std::min(next_sweep_ns_, connection.linger_until_ns);
  }
  if (connection.http2.holds_window() && !connection.holding) {
    connection.holding = true;
    holding_.push_back(&connection);
    next_held_ns_ = std::min(next_held_ns_, context_.now_ns() + kHeldRetryNs);
  }
}

void TransportImpl::close(SocketConnection& connection) {
  if (connection.closed) return;
  connection.closed = true;
  loop_.remove(connection.fd());
  connections_.erase(&connection);
  closed_.push_back(&connection);
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
  context_.metrics.connections->add(-1);
  if (connections_.empty()) next_sweep_ns_ = kNoDeadline;
}

bool TransportImpl::end_turn(int64_t now_ns) {
  if (now_ns >= next_held_ns_) retry_held();
  if (now_ns >= next_sweep_ns_ || now_ns >= resume_accept_ns_) sweep();
  flushing_.swap(dirty_);
  for (SocketConnection* connection : flushing_) flush(*connection);
  flushing_.clear();
  if (!closed_.empty()) {
    for (SocketConnection* connection : closed_) {
      std::erase(dirty_, connection);
      std::erase(holding_, connection);
      delete connection;
    }
    closed_.clear();
  }
  return !dirty_.empty();
}

int64_t TransportImpl::next_turn_ns() const { return std::min({next_sweep_ns_, next_held_ns_, resume_accept_ns_}); }

void TransportImpl::retry_held() {
  next_held_ns_ = kNoDeadline;
  std::erase_if(holding_, [&](SocketConnection* connection) {
    if (connection->closed) return true;
    connection->holding = connection->http2.release_held();
    mark_dirty(*connection);
    return !connection->holding;
  });
  if (!holding_.empty()) next_held_ns_ = context_.now_ns() + kHeldRetryNs;
}

void TransportImpl::sweep() {
  int64_t now = context_.now_ns();
  if (now >= resume_accept_ns_) {
    resume_accept_ns_ = kNoDeadline;
    for (auto& listener : listeners_) {
      if (listener->paused) loop_.modify(listener->fd.get(), EPOLLIN, listener.get());
      listener->paused = false;
    }
  }
  if (now < next_sweep_ns_) return;
  std::vector<SocketConnection*> over;
  for (SocketConnection* connection : connections_) {
    if (connection->linger_until_ns != 0) {
      if (now >= connection->linger_until_ns) over.push_back(connection);
      continue;
    }
    connection->http2.sweep();
    mark_dirty(*connection);
  }
  for (SocketConnection* connection : over) close(*connection);
  next_sweep_ns_ = connections_.empty() ? kNoDeadline : now + (draining_ ? kDrainSweepNs : kSweepNs);
}

void TransportImpl::adopt_listener(UniqueFd fd, uint32_t id) {
  if (draining_) return;
  auto listener = std::make_unique<Listener>(*this, std::move(fd), id);
  if (!loop_.add(listener->fd.get(), EPOLLIN, listener.get())) {
    log::error("cannot watch a listener", {{"why", std::strerror(errno)}});
    return;
  }
  listeners_.push_back(std::move(listener));
}

void TransportImpl::close_listener(uint32_t id) {
  std::erase_if(listeners_, [&](auto& listener) {
    if (listener->id != id) return false;
    loop_.remove(listener->fd.get());
    return true;
  });
}

void TransportImpl::Listener::on_ready(uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    UniqueFd socket(::accept4(fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        log::error(g_accept_limit, "cannot accept", {{"why", std::strerror(errno)}});
        transport.pause_accepting(*this);
      }
      if (errno != ECONNABORTED && errno != EINTR) return;
      continue;
    }
    transport.adopt_connection(std::move(socket), describe_peer(address, size), id);
  }
}

void TransportImpl::pause_accepting(Listener& listener) {
  listener.paused = true;
  loop_.modify(listener.fd.get(), 0, &listener);
  resume_accept_ns_ = context_.now_ns() + kAcceptPauseNs;
}

void TransportImpl::adopt_connection(UniqueFd fd, std::string peer, uint32_t listener) {
  uint32_t before = shared_.connections.fetch_add(1, std::memory_order_relaxed);
  if (before >= context_.options.max_connections) {
    shared_.connections.fetch_sub(1, std::memory_order_relaxed);
    context_.metrics.connections_refused->add();
    log::warn(g_accept_limit, "connection refused: limits.max_connections reached",
              {{"peer", peer}, {"max", context_.options.max_connections}});
    return;
  }
  int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // fails on unix sockets, which need it not
  ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  auto* connection = new SocketConnection(*this, std::move(fd), std::move(peer), listener);
  connections_.insert(connection);
  context_.metrics.connections->add(1);
  context_.metrics.connections_accepted->add();
  if (next_sweep_ns_ == kNoDeadline) next_sweep_ns_ = context_.now_ns() + kSweepNs;
  if (!loop_.add(connection->fd(), EPOLLIN, connection)) return close(*connection);
  mark_dirty(*connection);  // our SETTINGS
}

void TransportImpl::drain() {
  if (draining_) return;
  draining_ = true;
  for (auto& listener : listeners_) loop_.remove(listener->fd.get());
  listeners_.clear();
  for (SocketConnection* connection : connections_) {
    connection->http2.drain();
    mark_dirty(*connection);
  }
  next_sweep_ns_ = context_.now_ns();
}

Transport::Transport(EventLoop& loop, ThreadMetrics& metrics, const TransportOptions& options, TransportShared& shared)
    : impl_(std::make_unique<TransportImpl>(loop, metrics, options, shared, loop.clock())) {}
Transport::~Transport() = default;

void Transport::set_sink(CallSink* sink) { impl_->context_.sink = sink; }

void Transport::reply(Call& call, const Reply& reply) {
  Stream& stream = static_cast<Stream&>(call);
  Http2Connection& connection = *stream.connection;
  Http2Connection::reply(stream, reply);
  impl_->mark_dirty(static_cast<SocketConnection&>(connection.out()));
}

bool Transport::end_turn(int64_t now_ns) { return impl_->end_turn(now_ns); }
int64_t Transport::next_turn_ns() const { return impl_->next_turn_ns(); }
void Transport::adopt_listener(UniqueFd fd, uint32_t listener) { impl_->adopt_listener(std::move(fd), listener); }
void Transport::close_listener(uint32_t listener) { impl_->close_listener(listener); }
void Transport::adopt_connection(UniqueFd fd, std::string peer, uint32_t listener) {
  impl_->adopt_connection(std::move(fd), std::move(peer), listener);
}
void Transport::drain() { impl_->drain(); }
void Transport::close_all() { impl_->close_all(); }
bool Transport::drained() const { return impl_->drained(); }

}  // namespace drover::engine
