#include "engine/grpc/transport_connection.h"

#include <new>

#include "engine/net/socket_address.h"

namespace drover::engine {

namespace {

// A connection that we end is read for so long, and so far, so that GOAWAY arrives.
constexpr int64_t kLingerNs = 1'000'000'000;
constexpr size_t kLingerBytes = 256 << 10;

}  // namespace

TransportConnection::TransportConnection(ConnectionOwner& owner, GrpcContext& context, std::string peer,
                                         uint32_t listener)
    : http2(context, *this, Peer{std::move(peer), {}}, listener),
      opened_ns(context.now_ns()),
      owner_(owner),
      share_(http2.account().parent()->share()),
      moved_ns_(opened_ns) {}

bool TransportConnection::open(Io& io, UniqueFd socket) {
  socket_ = socket.get();
  stream_ = io.open_stream(std::move(socket), *this);
  return stream_ != nullptr;
}

bool TransportConnection::open(Io& io, UniqueFd socket, std::shared_ptr<const tls::Context> context,
                               tls::Scratch& scratch) {
  socket_ = socket.get();
  auto stream = std::make_unique<SecureStream>(std::move(context), scratch, *this);
  secure_ = stream.get();
  stream_ = std::move(stream);
  return secure_->open(io, std::move(socket));
}

void TransportConnection::describe(SocketFacts* out) const {
  http2.describe(out);
  if (!closed) out->local = describe_socket(socket_);
  if (secure_ != nullptr) secure_->session().describe(&out->cipher, &out->local_certificate, &out->remote_certificate);
}

void TransportConnection::close() {
  closed = true;
  if (stream_) stream_->close();
}

void TransportConnection::linger(int64_t now_ns) {
  stream_->end_writes();
  linger_until_ns = now_ns + kLingerNs;
  drop_backlog();
  resume();
}

void TransportConnection::on_bytes(const char* bytes, size_t size) {
  read_ += size;
  if (closed || (linger_until_ns != 0 && drop_lingering(size))) return;
  // Bytes that lie where they belong have been copied: the rest of the work is small.
  if (backlog_.empty() && ((!paused_ && owner_.may_work(0)) || bytes == http2.receive_into().data())) [[likely]] {
    const size_t taken = http2.receive(bytes, size);
    mark_dirty();
    if (taken == size) [[likely]]
      return;
    bytes += taken;
    size -= taken;
  }
  postpone(bytes, size);
}

bool TransportConnection::drop_lingering(size_t size) {
  lingered_ += size;
  if (lingered_ > kLingerBytes) owner_.close(*this);
  return true;
}

void TransportConnection::postpone(const char* bytes, size_t size) {
  try {
    backlog_.erase(0, worked_);
    worked_ = 0;
    backlog_.append(bytes, size);
  } catch (const std::bad_alloc&) {
    http2.cut_off("no memory");
    drop_backlog();
    mark_dirty();
  }
  pause();
  owner_.charge(*this);
}

// Until work() has come to the end of what there is.
void TransportConnection::pause() {
  if (!paused_) stream_->pause_reading();
  paused_ = true;
  owner_.wait_for_time(*this);
}

void TransportConnection::work() {
  if (!paused_) return;
  if (backlog_.empty() && (!unread() || !read())) return resume();
  if (closed || backlog_.empty()) return;
  worked_ += http2.receive(backlog_.data() + worked_, backlog_.size() - worked_);
  mark_dirty();
  if (worked_ < backlog_.size()) return;
  drop_backlog();
  if (!unread()) resume();
}

// Records that came after the pause wait in the SecureStream.
bool TransportConnection::unread() const { return unread_ || (secure_ != nullptr && secure_->has_unread()); }

// A little of what the kernel has. False: it has nothing, or the peer has ended.
bool TransportConnection::read() {
  const size_t before = read_;
  const bool some = stream_->read_paused(kReadBytes);
  unread_ = secure_ == nullptr && read_ - before >= kReadBytes;
  return some && !ended_;
}

void TransportConnection::drop_backlog() {
  backlog_ = std::string();
  worked_ = 0;
}

void TransportConnection::resume() {
  if (!paused_ || ended_) return;
  paused_ = false;
  stream_->resume_reading();
}

std::span<char> TransportConnection::place() {
  return closed || linger_until_ns != 0 || !backlog_.empty() ? std::span<char>() : http2.receive_into();
}

// What the peer sends while its address waits for time, or the turn has none left, stays with the kernel. So does what
// found no buffer: behind connections that fill all of them again and again, it would wait for its turn for ever.
bool TransportConnection::may_read(bool starved) {
  if (closed || linger_until_ns != 0) return true;
  if (!starved && !share_.waits() && owner_.may_work(0)) return true;
  unread_ = true;
  pause();
  return false;
}

// A step of the handshake always waits for its turn: it takes as long as a hundred calls.
bool TransportConnection::may_decrypt(bool costly) {
  if (closed || (!costly && !paused_ && owner_.may_work(0))) return true;
  wait_for_time();
  return false;
}

void TransportConnection::wait_for_time() {
  unread_ = true;
  pause();
}

bool TransportConnection::stalled(int64_t now_ns, int64_t patience_ns, uint32_t least_rate) {
  if (secure_ == nullptr) return false;
  const size_t moved = secure_->sent() - sent_before_;
  const bool moves = static_cast<double>(moved) * 1e9 >= static_cast<double>(now_ns - moved_ns_) * least_rate;
  if (!secure_->blocked() || moves) {
    moved_ns_ = now_ns;
    sent_before_ = secure_->sent();
  }
  return patience_ns > 0 && now_ns - moved_ns_ > patience_ns;
}

void TransportConnection::on_end(int) {
  if (closed || ended_) return;
  if (secure_ != nullptr && secure_->session().state() == tls::Session::State::kFailed) {
    return owner_.fail_tls(*this, secure_->session().why());
  }
  if (owner_.may_work(kCloseUnits)) return owner_.close(*this);
  ended_ = true;
  pause();
}

}  // namespace drover::engine
